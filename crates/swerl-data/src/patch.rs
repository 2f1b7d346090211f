//! Unified diffs in git's form: written for a change of texts, read, and applied exactly.
//!
//! Lines end at LF. A hunk applies where its removed and unchanged lines stand: at the place its
//! header names, else at the nearest other place; nothing fuzzier is tried. Binary patches are
//! refused.

mod apply;
mod parse;
mod render;

pub use apply::apply_patch;
pub use parse::parse_patch;
pub(crate) use render::patch_of;
pub use render::{file_patch, seed_patch};

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePatch {
    /// The path before; `None` for a new file.
    pub old_path: Option<String>,
    /// The path after; `None` for a deleted file.
    pub new_path: Option<String>,
    /// In order of place.
    pub hunks: Vec<PatchHunk>,
    /// Whether the patch says that the file is binary; it has no hunks then.
    pub is_binary: bool,
}

/// One run of lines with its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchHunk {
    /// The first line before, from 1; 0 where there is none.
    pub old_start: usize,
    /// The lines in order, each with its LF unless the patch says that it has none.
    pub lines: Vec<(LineKind, String)>,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It stays.
    Kept,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

/// Why a patch is no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchProblem {
    /// A line is not what the format has at that place.
    #[error("line {line} of the patch: {what}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The patch changes a binary file.
    #[error("the patch changes the binary file '{path}'")]
    Binary {
        /// The file.
        path: String,
    },
    /// A hunk's lines are nowhere in the text.
    #[error("hunk {hunk} does not apply to '{path}'")]
    DoesNotApply {
        /// The file.
        path: String,
        /// The hunk, counted from 1.
        hunk: usize,
    },
}
