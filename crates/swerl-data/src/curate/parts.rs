//! Seeds from aggregated events, part by part: the third stage of a large curation (feature `ingest`).
//!
//! ```text
//! WORK/seeds.json             from which aggregation, with which options
//! WORK/part-0003.jsonl        the report of a part, then its seeds before repetitions are dropped
//! ```
//!
//! One part's pull requests and issues are in memory at a time. An issue of another part's repository is
//! looked up in that part's file. A part is done once its file has been renamed into place;
//! the seeds file is made of all parts at the end, so that it does not show how often the work was
//! interrupted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::CurateOptions;
use super::change::Kept;
use super::events::curate_pulls;
use super::group::{Issues, Shared};
use super::judges::Judges;
use super::merge::{merge_parts, read_header};
use crate::error::DataError;
use crate::fold::Fold;
use crate::ids::Repositories;
use crate::ingest::aggregated::{Aggregated, Counts};
use crate::ingest::schema::repo_hash;
use crate::ingest::table::{read_issue, read_report, read_table};
use crate::progress::Progress;
use crate::pull_request::Issue;
use crate::report::CurateReport;
use crate::stage::Stage;

const PLAN_FILE: &str = "seeds.json";

/// Makes the seeds file `out` from the folder that [`aggregate`](crate::aggregate()) wrote.
///
/// The seeds and the report are those that [`curate_events`](crate::curate_events) gives for the same events. `work`
/// keeps what is done; a call that finds it there goes on.
///
/// # Errors
/// If `aggregated` is not finished, `work` belongs to other inputs or options or is in use, a file
/// cannot be read or written, or a clone cannot be read at all. Without a seed `out` is not written.
///
/// # Panics
/// If the report does not add up: a fault of this crate.
pub fn curate_aggregated(
    aggregated: impl AsRef<Path>,
    work: impl AsRef<Path>,
    out: impl AsRef<Path>,
    repositories: &dyn Repositories,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<CurateReport, DataError> {
    let tables = Aggregated::open(aggregated.as_ref())?;
    let stage = Stage::open(work.as_ref())?;
    keep_plan(&tables, options, &stage)?;
    let judges = Judges::default();
    let mut parts = Vec::new();
    for part in 0..tables.plan.parts {
        let place = stage.folder().join(format!("part-{part:04}.jsonl"));
        if !place.is_file() {
            let (kept, report) =
                curate_part(part, &tables, repositories, options, &judges, progress)?;
            write_part(&kept, &report, &stage, &place)?;
        }
        parts.push(place);
    }
    let mut report = CurateReport {
        event_files: tables.plan.event_files,
        events: tables.plan.events,
        ..CurateReport::default()
    };
    for part in &parts {
        report.add(read_header(part)?);
    }
    merge_parts(&parts, out.as_ref(), report, options)
}

/// Refuses the work of other inputs or options.
fn keep_plan(tables: &Aggregated, options: &CurateOptions, stage: &Stage) -> Result<(), DataError> {
    let plan = serde_json::json!({
        "aggregate": tables.plan,
        "options": format!("{options:?}"),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let text = format!("{plan}\n");
    let place = stage.folder().join(PLAN_FILE);
    match fs::read_to_string(&place) {
        Ok(found) if found == text => Ok(()),
        Ok(_) => Err(DataError::OtherInputs { path: stage.folder().to_path_buf() }),
        Err(_) => stage.write(&place, &text),
    }
}

fn curate_part(
    part: u16,
    tables: &Aggregated,
    repositories: &dyn Repositories,
    options: &CurateOptions,
    judges: &Judges<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Kept>, CurateReport), DataError> {
    let mut fold = Fold::default();
    read_table(&tables.pulls(part), |event| fold.add(event))?;
    read_table(&tables.issues(part), |event| fold.add(event))?;
    let issues = PartIssues { part, fold: &fold, tables, found: Mutex::default() };
    let shared = Shared { issues: &issues, repositories, options, judges, progress };
    let mut report = CurateReport::default();
    // Those that were not merged went no further than the aggregation's counts.
    let counts = read_report(&tables.pulls(part))?;
    let counts: Option<Counts> = counts.and_then(|text| serde_json::from_str(&text).ok());
    let unmerged = counts.unwrap_or_default().unmerged;
    report.inputs = unmerged;
    if unmerged > 0 {
        report.dropped.insert(crate::filter::DropReason::Unmerged, unmerged);
    }
    let kept = curate_pulls(fold.pull_requests(), &shared, &mut report)?;
    report.kept = kept.len() as u64;
    report.assert_adds_up();
    Ok((kept, report))
}

/// A repository's name in lower case, and a number.
type Key = (String, u64);

/// The issues of a part, and those of others as they are asked for.
struct PartIssues<'a> {
    part: u16,
    fold: &'a Fold,
    tables: &'a Aggregated,
    found: Mutex<BTreeMap<Key, Option<Issue>>>,
}

impl Issues for PartIssues<'_> {
    fn find(&self, repo: &str, number: u64) -> Result<Option<Cow<'_, Issue>>, DataError> {
        let key = repo.to_lowercase();
        let part = self.tables.part_of(repo_hash(&key));
        if part == self.part {
            return self.fold.find(repo, number);
        }
        let lock = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = (key, number);
        if let Some(issue) = lock().get(&known) {
            return Ok(issue.clone().map(Cow::Owned));
        }
        let mut fold = Fold::default();
        read_issue(&self.tables.issues(part), &known.0, number, |event| fold.add(event))?;
        let issue = fold.issue(repo, number).cloned();
        lock().insert(known, issue.clone());
        Ok(issue.map(Cow::Owned))
    }
}

fn write_part(
    kept: &[Kept],
    report: &CurateReport,
    stage: &Stage,
    place: &Path,
) -> Result<(), DataError> {
    let unfinished: PathBuf = stage.partial("part.jsonl");
    let error = |source| DataError::Write { path: place.to_path_buf(), source };
    let write = || {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        serde_json::to_writer(&mut out, report)?;
        out.write_all(b"\n")?;
        for kept in kept {
            serde_json::to_writer(&mut out, kept)?;
            out.write_all(b"\n")?;
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(error)?;
    stage.place(&unfinished, place)
}
