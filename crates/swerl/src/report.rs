//! A run folder as one HTML file: curves, held-out evaluations, configuration, and rollouts to browse.
//!
//! [`write_report`] reads the folder of a run, finished, going on or crashed ([`Run`]), and writes a page that
//! needs nothing else: no network, no other file. What is left out (a torn last line, lines that cannot
//! be read, rollouts beyond the limit) is said on the page and in [`ReportSummary`]. A trace of any size
//! is streamed; memory grows with the number of rollouts, not with their texts. Equal folders give equal
//! bytes.
//!
//! Texts of the model are hostile: each is escaped where it stands, and a content security policy lets no
//! script run but the page's own. Which rollouts of a long trace are kept: see docs/report.md.
//!
//! [`write_events`] writes the same numbers as TensorBoard event files.

mod axis;
mod catalogue;
mod chart;
mod config;
mod diff;
mod error;
mod escape;
mod evaluation;
mod events;
mod lines;
mod metrics;
mod notes;
mod number;
mod overview;
mod page;
mod rollouts;
mod run;
mod seeds;
mod select;
mod tokens;
mod trace;

use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
};

pub use self::{
    config::Config,
    error::ReportError,
    evaluation::{Difference, Evaluation},
    events::write_events,
    metrics::{Column, Stage},
    notes::Notes,
    run::Run,
};
use self::{page::Shown, rollouts::GroupView, tokens::Vocabulary, trace::Index};

/// How much is shown, and what else is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOptions {
    /// Most rollouts on the page, in whole groups; at least one group is shown. The page also
    /// holds at most 32 MiB of the trace.
    pub limit_rollouts: usize,
    /// Only rollouts of this step.
    pub step: Option<u64>,
    /// A seeds file: the merged change is shown, and how each answer differs from it.
    pub seeds: Option<PathBuf>,
    /// A `tokenizer.json`: tokens are shaded within the text. Without it, `model/tokenizer.json` or
    /// `tokenizer.json` of the run folder is taken.
    pub tokenizer: Option<PathBuf>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { limit_rollouts: 1_000, step: None, seeds: None, tokenizer: None }
    }
}

/// What a report shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSummary {
    /// Rollouts in the trace, of the step asked for where one is.
    pub rollouts: usize,
    /// Rollouts on the page.
    pub shown: usize,
    /// What was left out and why, a line each.
    pub notes: Vec<String>,
}

/// Writes the report of the run in `folder` to `out`.
///
/// # Errors
/// When the folder is no run, a file cannot be read, or `out` cannot be written. Damaged lines are no
/// error: they are noted and left out.
pub fn write_report(
    folder: &Path,
    options: &ReportOptions,
    out: &mut impl Write,
) -> Result<ReportSummary, ReportError> {
    let mut run = Run::read(folder)?;
    let index = match &run.trace {
        Some(path) => Some(Index::read(path, &mut run.notes)?),
        None => None,
    };
    let vocabulary = vocabulary(folder, options, &mut run.notes)?;
    page::head(&run, out).map_err(ReportError::write)?;
    let mut notes = Notes::default();
    let mut shown = Shown { step: options.step, ..Shown::default() };
    if let Some(index) = index {
        shown = browse(index, options, vocabulary.as_ref(), &mut notes, out)?;
    }
    page::tail(&notes.lines(), out).map_err(ReportError::write)?;
    let mut lines = run.notes.lines();
    lines.extend(notes.lines());
    if shown.shown < shown.rollouts {
        let Shown { rollouts, shown, .. } = shown;
        lines.push(format!(
            "rollouts.jsonl: {shown} of {rollouts} rollouts are shown; --limit-rollouts N shows more"
        ));
    }
    Ok(ReportSummary { rollouts: shown.rollouts, shown: shown.shown, notes: lines })
}

/// Writes the rollouts.
fn browse(
    mut index: Index,
    options: &ReportOptions,
    vocabulary: Option<&Vocabulary>,
    notes: &mut Notes,
    out: &mut impl Write,
) -> Result<Shown, ReportError> {
    if let Some(step) = options.step {
        index.only(step)?;
    }
    let chosen = select::select(&index.groups, options.limit_rollouts, select::MAX_BYTES);
    let seeds = match &options.seeds {
        None => seeds::Seeds::new(),
        Some(path) => {
            let wanted: BTreeSet<&str> =
                chosen.iter().map(|&at| index.groups[at].id.as_str()).collect();
            let seeds = seeds::read(path, &wanted)?;
            if seeds.len() < wanted.len() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let (missing, all) = (wanted.len() - seeds.len(), wanted.len());
                notes.add(format!("{name}: {missing} of the {all} seeds shown are not in it"));
            }
            seeds
        }
    };
    let mut shown = Shown { rollouts: index.rollouts(), shown: 0, step: options.step };
    let mut reader = index.open()?;
    let mut rows = Vec::new();
    for (at, &group) in chosen.iter().enumerate() {
        let Some((prompt, completions)) = reader.group(&index.groups[group], notes)? else {
            continue;
        };
        let seed = seeds.get(&prompt.id);
        let view = GroupView::new(prompt, completions, seed, vocabulary);
        page::group(at, &view, out).map_err(ReportError::write)?;
        for row in view.rows(at) {
            rows.push(page::row(&row).map_err(ReportError::write)?);
        }
    }
    shown.shown = rows.len();
    page::rollouts(&shown, &rows, out).map_err(ReportError::write)?;
    Ok(shown)
}

/// The vocabulary asked for, or the run folder's own. One that was not asked for may be unusable.
fn vocabulary(
    folder: &Path,
    options: &ReportOptions,
    notes: &mut Notes,
) -> Result<Option<Vocabulary>, ReportError> {
    if let Some(path) = &options.tokenizer {
        return Vocabulary::read(path).map(Some);
    }
    for name in ["model/tokenizer.json", "tokenizer.json"] {
        let path = folder.join(name);
        if path.is_file() {
            return match Vocabulary::read(&path) {
                Ok(vocabulary) => Ok(Some(vocabulary)),
                Err(ReportError::Tokenizer { reason, .. }) => {
                    notes.add(format!("{name}: not used: {reason}"));
                    Ok(None)
                }
                Err(error) => Err(error),
            };
        }
    }
    Ok(None)
}
