//! Events in parquet to pull requests and issues: the second stage of a large curation (feature
//! `aggregate`), a DataFusion query.
//!
//! ```text
//! OUT/aggregate.json            from which events, in how many parts
//! OUT/pulls/part-0003.parquet   the most telling view of every merged pull request
//! OUT/issues/part-0003.parquet  all events of issues and of comments on them, in order of time
//! ```
//!
//! A part holds the repositories whose `repo_hash` is in its share; both files have the columns of
//! [`events_schema`](crate::ingest::events_schema), sorted by repository and number. What the fold of
//! [`curate_events`](crate::curate_events) makes of them is what it makes of the events themselves. A part is
//! done once its file has been renamed into place. Sorting uses the memory allowed and spills
//! the rest to files below `OUT/.partial`.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, ParquetReadOptions, SessionConfig, SessionContext};
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::ingest::aggregated::{Aggregated, Counts, Plan};
use crate::ingest::table::{TableWriter, read_report};
use crate::ingest::{REPO_HASHES, events_schema};
use crate::progress::Progress;
use crate::stage::Stage;

mod ingested;
mod query;

use ingested::IngestedEvents;

/// Rows of a batch handed to the writer; always the same, so that equal rows make equal bytes.
const BATCH_ROWS: usize = 8_192;

/// Batches of a row group.
const GROUP_BATCHES: usize = 4;

/// How the query runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregateOptions {
    /// Into how many parts the repositories are spread, 1 to [`REPO_HASHES`]; the next stage holds one part
    /// in memory at a time. Usual: 16; 256 for all of GH Archive.
    pub parts: u16,
    /// Bytes of memory for sorting, over all threads. Usual: 1 GiB.
    pub memory_bytes: usize,
}

impl Default for AggregateOptions {
    fn default() -> Self {
        Self { parts: 16, memory_bytes: 1 << 30 }
    }
}

/// What was found, in earlier runs too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AggregateReport {
    /// Files written: two a part.
    pub files: u64,
    /// Of these, those that an earlier run had done.
    pub resumed: u64,
    /// Pull requests seen.
    pub pull_requests: u64,
    /// Of these, those not merged; they go no further.
    pub unmerged: u64,
    /// Events of issues and of comments on issues.
    pub issue_events: u64,
}

/// Writes the pull requests and issues that the events below `events`, made by
/// [`ingest`](crate::ingest()), tell of.
///
/// # Errors
/// If `events` is not the folder of a finished ingest, `out` cannot be written, is in use or was made from
/// other events, or the query needs more memory or disk than there is.
///
/// # Panics
/// If `options.parts` is 0 or above [`REPO_HASHES`].
pub fn aggregate(
    events: impl AsRef<Path>,
    out: impl AsRef<Path>,
    options: &AggregateOptions,
    progress: &dyn Progress,
) -> Result<AggregateReport, DataError> {
    let (events, out) = (events.as_ref(), out.as_ref());
    assert!((1..=REPO_HASHES).contains(&options.parts), "parts: 1 to {REPO_HASHES}");
    let ingested = IngestedEvents::open(events)?;
    let stage = Stage::open(out)?;
    let plan = Plan::new(&ingested, options.parts);
    plan.keep(&stage)?;
    let tables = Aggregated::of(out, plan);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .build()
        .map_err(|source| DataError::Query { path: out.to_path_buf(), source: source.into() })?;
    let session = session(&stage, options)
        .map_err(|source| DataError::Query { path: out.to_path_buf(), source })?;
    let folders = ingested.folders.iter().map(|folder| file_url(folder)).collect::<Vec<_>>();
    let mut report = AggregateReport::default();
    progress.start(u64::from(options.parts), "aggregating");
    for part in 0..options.parts {
        for kind in [Kind::Pulls, Kind::Issues] {
            let place = match kind {
                Kind::Pulls => tables.pulls(part),
                Kind::Issues => tables.issues(part),
            };
            let done = if place.is_file() { read_report(&place)? } else { None };
            report.files += 1;
            let counts = match done.and_then(|text| serde_json::from_str::<Counts>(&text).ok()) {
                Some(counts) => {
                    report.resumed += 1;
                    counts
                }
                None => {
                    let work = Work { session: &session, folders: &folders, stage: &stage };
                    runtime.block_on(work.write(kind, &tables.hashes(part), &place))?
                }
            };
            report.pull_requests += counts.pull_requests;
            report.unmerged += counts.unmerged;
            report.issue_events += counts.issue_events;
        }
        progress.advance(1);
    }
    progress.finish();
    Ok(report)
}

#[derive(Clone, Copy)]
enum Kind {
    Pulls,
    Issues,
}

fn session(stage: &Stage, options: &AggregateOptions) -> Result<SessionContext, DataFusionError> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(options.memory_bytes)))
        .with_temp_file_path(stage.partial("spill"))
        .with_max_temp_directory_size(u64::MAX)
        .build_arc()?;
    let config = SessionConfig::new()
        .with_batch_size(BATCH_ROWS)
        .set_bool("datafusion.execution.collect_statistics", false)
        .set_bool("datafusion.execution.parquet.pushdown_filters", true)
        // Rows keep the column types of the files.
        .set_bool("datafusion.execution.parquet.schema_force_view_types", false);
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

/// A folder as a `file:` URL, in which no byte is read as a pattern.
fn file_url(folder: &Path) -> String {
    use std::fmt::Write;
    let mut url = String::from("file://");
    for &byte in folder.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-=".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url.push('/');
    url
}

struct Work<'a> {
    session: &'a SessionContext,
    folders: &'a [String],
    stage: &'a Stage,
}

impl Work<'_> {
    async fn events(&self) -> Result<DataFrame, DataFusionError> {
        let schema = events_schema();
        let options = ParquetReadOptions::default().schema(&schema);
        self.session.read_parquet(self.folders.to_vec(), options).await
    }

    async fn rows(&self, kind: Kind, hashes: &Range<u16>) -> Result<DataFrame, DataFusionError> {
        let events = self.events().await?;
        match kind {
            Kind::Pulls => query::pull_requests(events, hashes),
            Kind::Issues => query::issues(events, hashes),
        }
    }

    /// Writes one file of a part and places it.
    async fn write(
        &self,
        kind: Kind,
        hashes: &Range<u16>,
        place: &Path,
    ) -> Result<Counts, DataError> {
        let error = |source| query_error(place, source);
        let unfinished = self.stage.partial("part.parquet");
        let mut writer = TableWriter::create(&unfinished)?;
        let mut counts = Counts::default();
        let mut full = BatchCoalescer::new(events_schema(), BATCH_ROWS);
        let mut batches = 0;
        let rows = self.rows(kind, hashes).await.map_err(error)?;
        let mut stream = rows.execute_stream().await.map_err(error)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(error)?;
            let batch = RecordBatch::try_new(events_schema(), batch.columns().to_vec())
                .map_err(|e| error(e.into()))?;
            let kept = match kind {
                Kind::Pulls => counts.merged_of(&batch).map_err(|e| error(e.into()))?,
                Kind::Issues => {
                    counts.issue_events += batch.num_rows() as u64;
                    batch
                }
            };
            full.push_batch(kept).map_err(|e| error(e.into()))?;
            while let Some(batch) = full.next_completed_batch() {
                writer.write(&batch)?;
                batches += 1;
                if batches % GROUP_BATCHES == 0 {
                    writer.flush()?;
                }
            }
        }
        full.finish_buffered_batch().map_err(|e: ArrowError| error(e.into()))?;
        while let Some(batch) = full.next_completed_batch() {
            writer.write(&batch)?;
        }
        // Three integers always become JSON.
        writer.finish(serde_json::to_string(&counts).unwrap_or_default())?;
        self.stage.place(&unfinished, place)?;
        Ok(counts)
    }
}

/// A full disk as the operating system tells it, where the cause can be found.
fn query_error(place: &Path, source: DataFusionError) -> DataError {
    let path = place.to_path_buf();
    match source.find_root() {
        DataFusionError::IoError(cause) => {
            let cause = io::Error::new(cause.kind(), cause.to_string());
            DataError::Write { path, source: cause }
        }
        _ => DataError::Query { path, source },
    }
}

impl fmt::Display for AggregateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12}  files ({} by earlier runs)", self.files, self.resumed)?;
        writeln!(f, "{:>12}  pull requests, {} not merged", self.pull_requests, self.unmerged)?;
        write!(f, "{:>12}  events of issues", self.issue_events)
    }
}
