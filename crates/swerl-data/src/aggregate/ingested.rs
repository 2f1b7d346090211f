//! The folder of events that an aggregation starts from, its plan, and how rows are counted.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;

use crate::error::DataError;
use crate::ingest::aggregated::{Aggregated, Counts, PLAN_FILE, Plan};
use crate::ingest::schema::{EVENTS_SCHEMA_VERSION, REPO_HASHES};
use crate::ingest::{INGEST_FILE, IngestReport, placed};
use crate::stage::Stage;

/// The folder of a finished ingest.
pub(crate) struct IngestedEvents {
    /// One a month, absolute.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) report: IngestReport,
    /// FNV-1a of the parts' names and sizes.
    digest: u64,
}

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl IngestedEvents {
    pub(crate) fn open(folder: &Path) -> Result<Self, DataError> {
        let read = |path: &Path, source| DataError::Read { path: path.to_path_buf(), source };
        let absolute = fs::canonicalize(folder).map_err(|source| read(folder, source))?;
        let done = absolute.join(INGEST_FILE);
        let report = fs::read_to_string(&done).ok();
        let report = report.and_then(|text| serde_json::from_str(&text).ok());
        let unfinished =
            || DataError::Unfinished { path: folder.to_path_buf(), stage: "swerl curate ingest" };
        let report = report.ok_or_else(unfinished)?;
        let mut digest = 0xcbf2_9ce4_8422_2325;
        let mut folders = Vec::new();
        for (name, path) in placed(&absolute)? {
            let bytes = fs::metadata(&path).map_err(|source| read(&path, source))?.len();
            digest = fnv(fnv(digest, name.as_bytes()), &bytes.to_le_bytes());
            folders.extend(path.parent().map(Path::to_path_buf));
        }
        folders.sort();
        folders.dedup();
        if folders.is_empty() {
            return Err(unfinished());
        }
        Ok(Self { folders, report, digest })
    }
}

impl Plan {
    pub(crate) fn new(events: &IngestedEvents, parts: u16) -> Self {
        Self {
            version: EVENTS_SCHEMA_VERSION,
            events_digest: format!("{:016x}", events.digest),
            event_files: events.report.files,
            events: events.report.counts.lines,
            parts,
        }
    }

    /// Writes it down, or compares it with what an earlier run wrote.
    pub(crate) fn keep(&self, stage: &Stage) -> Result<(), DataError> {
        let place = stage.folder().join(PLAN_FILE);
        // Strings and integers always become JSON.
        let text = serde_json::to_string(self).unwrap_or_default() + "\n";
        match fs::read_to_string(&place) {
            Ok(found) if found == text => Ok(()),
            Ok(_) => Err(DataError::OtherInputs { path: stage.folder().to_path_buf() }),
            Err(_) => stage.write(&place, &text),
        }
    }
}

impl Counts {
    /// Counts a batch of pull requests; gives the merged ones.
    pub(crate) fn merged_of(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let column = |name: &str| batch.column_by_name(name).expect("the schema was checked");
        let (flag, moment) = (column("merged").as_boolean(), column("merged_at"));
        let action = column("action").as_string::<i32>();
        let merged = (0..batch.num_rows()).map(|row| {
            let told = flag.is_valid(row) && flag.value(row);
            Some(told || moment.is_valid(row) || action.value(row) == "merged")
        });
        let merged: BooleanArray = merged.collect();
        self.pull_requests += batch.num_rows() as u64;
        self.unmerged += (batch.num_rows() - merged.true_count()) as u64;
        filter_record_batch(batch, &merged)
    }
}

impl Aggregated {
    /// The `repo_hash`es of a part.
    pub(crate) fn hashes(&self, part: u16) -> Range<u16> {
        let first = |part: u16| {
            let first =
                (u32::from(part) * u32::from(REPO_HASHES)).div_ceil(u32::from(self.plan.parts));
            u16::try_from(first).unwrap_or(REPO_HASHES)
        };
        first(part)..first(part + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Aggregated;
    use crate::ingest::aggregated::Plan;
    use crate::ingest::schema::REPO_HASHES;

    #[test]
    fn every_hash_is_in_the_range_of_its_part() {
        for parts in [1, 2, 3, 7, 16, 100, 4_095, REPO_HASHES] {
            let plan =
                Plan { version: 1, events_digest: String::new(), event_files: 0, events: 0, parts };
            let tables = Aggregated::of(Path::new(""), plan);
            for hash in 0..REPO_HASHES {
                let part = tables.part_of(hash);
                assert!(part < parts && tables.hashes(part).contains(&hash), "{parts} {hash}");
            }
        }
    }
}
