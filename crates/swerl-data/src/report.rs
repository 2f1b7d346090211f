//! Where the pull requests went: what came in is what was kept plus what was dropped.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::filter::DropReason;
use crate::note::Notes;

/// The counts of one curation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CurateReport {
    /// Pull requests seen; for a lone repository, commits on its first-parent history.
    pub inputs: u64,
    /// Seeds made.
    pub kept: u64,
    /// Pull requests dropped, by reason; reasons that dropped none are absent.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Event files read.
    pub event_files: u64,
    /// Event lines read.
    pub events: u64,
    /// Clones read.
    pub repositories: u64,
    /// What was unusual about changes and clones, kept or not.
    #[serde(default)]
    pub notes: Notes,
    /// Seeds by the licence of their repository at that time (SPDX); one with several licences
    /// counts for each.
    #[serde(default)]
    pub licences: BTreeMap<String, u64>,
}

impl CurateReport {
    /// Counts one dropped pull request.
    pub fn drop_one(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// All dropped pull requests.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Adds what another report counts, but for `kept`, which is known at the end.
    #[cfg(feature = "ingest")]
    pub(crate) fn add(&mut self, other: Self) {
        self.inputs += other.inputs;
        for (reason, count) in other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
        self.repositories += other.repositories;
        for (note, count) in other.notes {
            *self.notes.entry(note).or_default() += count;
        }
    }

    /// Whether `inputs == kept + dropped_total()`.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.inputs == self.kept + self.dropped_total()
    }

    /// # Panics
    /// If the counts do not add up: a fault of this crate.
    pub(crate) fn assert_adds_up(&self) {
        assert!(self.adds_up(), "every input is kept or dropped for one reason: {self:?}");
    }
}

impl fmt::Display for CurateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>9}  pull requests seen", self.inputs)?;
        for (reason, count) in &self.dropped {
            writeln!(f, "{count:>9}  dropped: {reason} ({})", reason.explanation())?;
        }
        write!(f, "{:>9}  kept", self.kept)
    }
}
