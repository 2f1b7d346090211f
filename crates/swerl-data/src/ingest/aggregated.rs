//! What the stage `aggregate` leaves: its folder, the part of a repository, the sums.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::schema::{EVENTS_SCHEMA_VERSION, REPO_HASHES};
use super::table::read_table;
use crate::error::DataError;
use crate::fold::Fold;

/// The file that tells from which events, in how many parts.
pub(crate) const PLAN_FILE: &str = "aggregate.json";

/// From which events, in how many parts; `aggregate.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) version: u32,
    /// Of the parts of the ingest: names and sizes.
    pub(crate) events_digest: String,
    /// Inputs of the ingest.
    pub(crate) event_files: u64,
    /// Their lines.
    pub(crate) events: u64,
    pub(crate) parts: u16,
}

/// The sums of one file of a part, kept in its footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) pull_requests: u64,
    pub(crate) unmerged: u64,
    pub(crate) issue_events: u64,
}

/// The folder of an aggregation.
#[derive(Debug, Clone)]
pub(crate) struct Aggregated {
    folder: PathBuf,
    pub(crate) plan: Plan,
}

impl Aggregated {
    pub(crate) fn of(folder: &Path, plan: Plan) -> Self {
        Self { folder: folder.to_path_buf(), plan }
    }

    /// A finished aggregation.
    pub(crate) fn open(folder: &Path) -> Result<Self, DataError> {
        let unfinished = || DataError::Unfinished {
            path: folder.to_path_buf(),
            stage: "swerl curate aggregate",
        };
        let text = fs::read_to_string(folder.join(PLAN_FILE)).map_err(|_| unfinished())?;
        let plan: Plan = serde_json::from_str(&text).map_err(|_| unfinished())?;
        let version = plan.version == EVENTS_SCHEMA_VERSION;
        let tables = Self::of(folder, plan);
        let parts = 0..tables.plan.parts;
        let whole = parts.clone().all(|part| tables.pulls(part).is_file())
            && parts.clone().all(|part| tables.issues(part).is_file());
        if whole && version && !parts.is_empty() { Ok(tables) } else { Err(unfinished()) }
    }

    pub(crate) fn pulls(&self, part: u16) -> PathBuf {
        self.folder.join(format!("pulls/part-{part:04}.parquet"))
    }

    pub(crate) fn issues(&self, part: u16) -> PathBuf {
        self.folder.join(format!("issues/part-{part:04}.parquet"))
    }

    /// The part of a `repo_hash`.
    pub(crate) fn part_of(&self, hash: u16) -> u16 {
        let part = u32::from(hash) * u32::from(self.plan.parts) / u32::from(REPO_HASHES);
        // Below `parts`, for the hash is below REPO_HASHES.
        u16::try_from(part).unwrap_or(u16::MAX)
    }
}

/// All that an aggregation tells, in memory: for looking at small ones.
///
/// # Errors
/// If it is not finished or a file cannot be read.
pub fn read_aggregated(folder: impl AsRef<Path>) -> Result<Fold, DataError> {
    let tables = Aggregated::open(folder.as_ref())?;
    let mut fold = Fold::default();
    for part in 0..tables.plan.parts {
        read_table(&tables.pulls(part), |event| fold.add(event))?;
        read_table(&tables.issues(part), |event| fold.add(event))?;
    }
    Ok(fold)
}
