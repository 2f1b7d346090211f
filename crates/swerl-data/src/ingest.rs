//! Hourly `*.json.gz` files to parquet: the first stage of a large curation (feature `ingest`).
//!
//! ```text
//! OUT/month=2016-05/2016-05-04-12.json.gz.parquet   the kept events of one input file
//! OUT/quarantine/2016-05-04-13.json.gz.json         why another one gave nothing
//! OUT/ingest.json                                   the sums, once all inputs were read
//! ```
//!
//! Kept are the events of pull requests, issues and comments on either; a part has the schema of
//! [`schema`], its rows in runs sorted by repository and number, and the counts of its input in its
//! footer. An input is done once its part has been renamed into place: a run that was killed goes
//! on where it stopped, and the result does not show it. Memory is bounded by the number of
//! threads, whatever the inputs' size and number.
//!
//! What it does not do: decide which pull requests matter. That is the next stage's business.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::event::gharchive::event_files;
use crate::progress::Progress;
use crate::stage::Stage;

pub(crate) mod aggregated;
pub(crate) mod columns;
mod part;
mod quarantine;
pub(crate) mod rows;
pub mod schema;
pub(crate) mod table;

pub use schema::{EVENTS_SCHEMA_VERSION, REPO_HASHES, events_schema};

pub use aggregated::read_aggregated;
use part::{Found, Made, Source};

/// The report of a finished ingest; absent while one is not finished.
pub(crate) const INGEST_FILE: &str = "ingest.json";

/// How an ingest treats its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestOptions {
    /// Lines of one file that may be no events before the whole file is set aside. Usual: 100; a file
    /// of GH Archive has about 100,000 lines.
    pub max_bad_lines: u64,
    /// About the most bytes of rows that a thread holds before it writes them. Usual: 32 MiB.
    pub row_bytes: usize,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self { max_bad_lines: 100, row_bytes: 32 << 20 }
    }
}

/// What one input held; of several, the sums.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IngestCounts {
    /// Bytes of the input as it is stored.
    pub source_bytes: u64,
    /// Bytes of its lines, uncompressed.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// Events of pull requests kept.
    pub pull_requests: u64,
    /// Of these, those without a title: payloads after 2025-10-07.
    pub slim: u64,
    /// Events of issues kept.
    pub issues: u64,
    /// Events of comments on issues and pull requests kept.
    pub comments: u64,
    /// Lines that are no events, and were passed over.
    pub bad_lines: u64,
}

impl IngestCounts {
    fn add(&mut self, other: &Self) {
        self.source_bytes += other.source_bytes;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.pull_requests += other.pull_requests;
        self.slim += other.slim;
        self.issues += other.issues;
        self.comments += other.comments;
        self.bad_lines += other.bad_lines;
    }
}

/// An input that gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// Its path below the folder of events.
    pub source: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What all inputs held, those done in earlier runs included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IngestReport {
    /// Inputs that have a part.
    pub files: u64,
    /// Of these, those that an earlier run had done.
    pub resumed: u64,
    /// The sums of their counts.
    #[serde(flatten)]
    pub counts: IngestCounts,
    /// The first line of each input that is no event, and why (`source:line: reason`).
    pub first_bad_lines: Vec<String>,
    /// Inputs that gave nothing, by path.
    pub quarantined: Vec<Quarantined>,
}

/// Writes the kept events of all `*.json.gz` files below `events` as parquet parts below `out`.
///
/// An input that is truncated, damaged or mostly no events is set aside, with its reason below
/// `out/quarantine` and in the report, and tried again by the next call. `progress` counts
/// bytes of the inputs as stored.
///
/// # Errors
/// If there is no input, or `out` cannot be written or is in use by another process.
pub fn ingest(
    events: impl AsRef<Path>,
    out: impl AsRef<Path>,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<IngestReport, DataError> {
    let (events, out) = (events.as_ref(), out.as_ref());
    let sources: Vec<Source> =
        event_files(events)?.into_iter().map(|path| Source::new(events, path)).collect();
    let stage = Stage::open(out)?;
    let finished = out.join(INGEST_FILE);
    match fs::remove_file(&finished) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(DataError::Write { path: finished, source });
        }
        _ => {}
    }
    let parts = placed(out)?;
    progress.start(sources.iter().map(|source| source.bytes).sum(), "reading events");
    let found: Result<Vec<Found>, DataError> = sources
        .par_iter()
        .map(|source| {
            let found = match parts.get(&source.part_name()) {
                Some(place) => part::resume(source, place)?,
                None => None,
            };
            let found = match found {
                Some(found) => found,
                None => part::write(source, &stage, options)?,
            };
            match &found.made {
                Made::Part => quarantine::clear(source, &stage)?,
                Made::Nothing(reason) => quarantine::note(source, reason, &stage)?,
            }
            progress.advance(source.bytes);
            Ok(found)
        })
        .collect();
    let mut report = IngestReport::default();
    for (source, found) in sources.iter().zip(found?) {
        match found.made {
            Made::Part => {
                report.files += 1;
                report.resumed += u64::from(found.resumed);
                report.counts.add(&found.counts);
                report.first_bad_lines.extend(found.first_bad_line);
            }
            Made::Nothing(reason) => {
                report.quarantined.push(Quarantined { source: source.name.clone(), reason });
            }
        }
    }
    let lasting = IngestReport { resumed: 0, ..report.clone() };
    // Strings and integers always become JSON.
    stage.write(&finished, &(serde_json::to_string(&lasting).unwrap_or_default() + "\n"))?;
    progress.finish();
    Ok(report)
}

/// The parts below a folder by name, with their paths.
pub(crate) fn placed(out: &Path) -> Result<BTreeMap<String, PathBuf>, DataError> {
    let error = |source| DataError::Read { path: out.to_path_buf(), source };
    let mut parts = BTreeMap::new();
    for month in fs::read_dir(out).map_err(error)? {
        let month = month.map_err(error)?;
        if !month.file_name().to_string_lossy().starts_with("month=") {
            continue;
        }
        for part in fs::read_dir(month.path()).map_err(error)? {
            let part = part.map_err(error)?;
            let name = part.file_name().to_string_lossy().into_owned();
            if name.ends_with(".parquet") {
                parts.insert(name, part.path());
            }
        }
    }
    Ok(parts)
}

impl fmt::Display for IngestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(f, "{:>12}  files ({} by earlier runs)", self.files, self.resumed)?;
        writeln!(f, "{:>12}  files set aside", self.quarantined.len())?;
        writeln!(f, "{:>12}  bytes, {} compressed", counts.bytes, counts.source_bytes)?;
        writeln!(f, "{:>12}  events, {} bad lines", counts.lines, counts.bad_lines)?;
        writeln!(
            f,
            "{:>12}  of pull requests, {} without a title",
            counts.pull_requests, counts.slim
        )?;
        writeln!(f, "{:>12}  of issues", counts.issues)?;
        write!(f, "{:>12}  of comments", counts.comments)
    }
}
