//! The whole corpus, written aside and renamed when it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::CorpusError;
use crate::events::{Event, events};
use crate::history::history;
use crate::names::NamePool;
use crate::plan::{Counts, Plan, build, slot_seconds};
use crate::random::Stream;
use crate::report::{CorpusReport, RepositoryReport, Side, common_words};
use crate::template::Language;
use crate::{archive, git, parallel};

/// What to make.
#[derive(Clone, Debug)]
pub struct CorpusOptions {
    /// Seed of every draw.
    pub seed: u64,
    /// How many bug fixes with an issue; noise comes on top. At least 12, one a repository, is
    /// sensible; a repository of fewer has none.
    pub pull_requests: usize,
}

impl Default for CorpusOptions {
    /// Seed 0 and 8,400 pull requests.
    fn default() -> Self {
        Self { seed: 0, pull_requests: 8_400 }
    }
}

/// Language, held out or not, and the share of the pull requests, in sixtieths.
const REPOSITORIES: [(Language, bool, usize); 12] = [
    (Language::Python, false, 6),
    (Language::Python, false, 6),
    (Language::Rust, false, 6),
    (Language::Python, false, 6),
    (Language::Python, false, 6),
    (Language::Rust, false, 6),
    (Language::Python, false, 6),
    (Language::Rust, false, 6),
    (Language::Python, true, 3),
    (Language::Python, true, 3),
    (Language::Rust, true, 3),
    (Language::Python, true, 3),
];

/// Makes the corpus at `out`, which must not exist; its parent is created when missing.
///
/// `progress` is called with the pull requests done and those to do, after every repository.
///
/// Everything is written to `out` with `.tmp` added to its name, and renamed at the end. A folder
/// of that name left by an interrupted run is removed first.
///
/// # Errors
/// If `out` exists, a file cannot be written, or `git` is missing or fails.
pub fn generate(
    out: &Path,
    options: &CorpusOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<CorpusReport, CorpusError> {
    if out.symlink_metadata().is_ok() {
        return Err(CorpusError::Exists { path: out.to_path_buf() });
    }
    let mut name = out.as_os_str().to_owned();
    name.push(".tmp");
    let aside = PathBuf::from(name);
    if aside.symlink_metadata().is_ok() {
        fs::remove_dir_all(&aside).map_err(io("remove", &aside))?;
    }
    let made = write(&aside, options, progress)
        .and_then(|report| fs::rename(&aside, out).map_err(io("rename", &aside)).map(|()| report));
    if made.is_err() {
        // The first failure is the one to tell; a folder left behind does no harm.
        let _ = fs::remove_dir_all(&aside);
    }
    made
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> CorpusError + use<> {
    let path = path.to_path_buf();
    move |source| CorpusError::Io { action, path, source }
}

/// The fixes of every repository: shares of the total, the remainder to the last ones, so that a
/// small corpus has something held out.
fn shares(total: usize) -> Vec<usize> {
    let mut shares: Vec<usize> =
        REPOSITORIES.iter().map(|(_, _, sixtieths)| total * sixtieths / 60).collect();
    let missing = total - shares.iter().sum::<usize>();
    for share in shares.iter_mut().rev().take(missing) {
        *share += 1;
    }
    shares
}

fn write(
    folder: &Path,
    options: &CorpusOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<CorpusReport, CorpusError> {
    let total = options.pull_requests;
    let event_folder = folder.join("events");
    fs::create_dir_all(&event_folder).map_err(io("create the folder", &event_folder))?;
    let shares = shares(total);
    let counts: Vec<Counts> = shares.iter().map(|&fixes| Counts::for_fixes(fixes)).collect();
    let busiest = counts.iter().map(Counts::total).max().unwrap_or(0);
    let slot = slot_seconds(busiest);

    let mut pool = NamePool::default();
    let (mut train, mut held_out) = (Side::default(), Side::default());
    let mut plans = Vec::new();
    for (index, (&(language, is_held_out, _), &counts)) in
        REPOSITORIES.iter().zip(&counts).enumerate()
    {
        if counts.fixes == 0 {
            continue;
        }
        let mut stream = Stream::new(options.seed, &[index as u64]);
        // The busiest repository fills the whole time, the others spread over it.
        let jobs = i64::try_from(counts.total()).expect("a count of jobs fits");
        let busiest = i64::try_from(busiest).expect("a count of jobs fits");
        let plan =
            build(language, is_held_out, counts, slot * busiest / jobs, &mut stream, &mut pool);
        let side = if is_held_out { &mut held_out } else { &mut train };
        side.add(&plan, &common_words(language));
        plans.push(plan);
    }

    let mut done = 0;
    let imported = parallel::run(
        plans.len(),
        |index| import(folder, &plans[index]),
        |index| {
            done += plans[index].fixes();
            progress(done, total);
        },
    );
    let imported: Result<Vec<Vec<Event>>, CorpusError> = imported.into_iter().collect();
    let reports = plans.iter().map(RepositoryReport::new).collect();
    let all_events = imported?.into_iter().flatten().collect();
    let (hours, events) = archive::write(&event_folder, all_events)?;
    let mut report = CorpusReport::new(options.seed, reports, &train, &held_out);
    report.events = events;
    report.hours = hours;
    let path = folder.join("corpus.json");
    fs::write(&path, report.to_json()).map_err(io("write", &path))?;
    Ok(report)
}

/// Makes the repository of a plan; gives its events.
fn import(folder: &Path, plan: &Plan) -> Result<Vec<Event>, CorpusError> {
    let history = history(plan);
    let repository = folder.join("repos").join(format!("{}.git", plan.name));
    let marked = git::import(&repository, &history.stream, history.marks, &history.references)?;
    Ok(events(plan, &history.commits(&marked)))
}
