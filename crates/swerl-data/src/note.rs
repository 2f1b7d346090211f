//! What is unusual about a change or a clone without being a reason to drop it: counted, so that
//! nobody has to guess how common it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A property that is counted once for each change, or clone, that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// A file is moved: deleted here and added there with at least half of its lines. The oracle
    /// holds both sides.
    Rename,
    /// A file's executable bit changes; texts do not tell that.
    ModeChange,
    /// A file is added.
    Addition,
    /// A file is deleted.
    Deletion,
    /// An empty file comes or goes, which the oracle cannot say.
    EmptyFile,
    /// A path differs from another one of the tree in letter case alone.
    CaseCollision,
    /// A text has CRLF line ends.
    CarriageReturn,
    /// The issue was found through a commit message.
    LinkInCommit,
    /// The change closes an issue of another repository.
    CrossRepositoryLink,
    /// Comments from before the fix are part of the issue's text.
    IssueComments,
    /// A clone whose configuration names programs to run. They were not run.
    ConfiguredCommand,
    /// A clone with hooks that could run. They were not run.
    Hook,
}

/// Counts by note.
pub type Notes = BTreeMap<Note, u64>;

/// Adds one to a note's count.
pub(crate) fn count(notes: &mut Notes, note: Note) {
    *notes.entry(note).or_default() += 1;
}

/// Adds all counts of `other`.
pub(crate) fn add_all(notes: &mut Notes, other: &Notes) {
    for (note, count) in other {
        *notes.entry(*note).or_default() += count;
    }
}
