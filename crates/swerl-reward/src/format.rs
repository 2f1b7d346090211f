//! The answer format, defined here and nowhere else.
//!
//! ````text
//! <think>
//! free text, not empty
//! </think>
//! <solution>
//! ```python
//! ### path/to/file.py
//! <<<<<<< SEARCH
//! whole lines of the file
//! =======
//! what to put in their place
//! >>>>>>> REPLACE
//! ```
//! </solution>
//! ````
//! Prompts and evaluation import this module; a second parser would sooner or later disagree
//! with the reward. [`parse_answer`] reads (rules R1 to R4), [`render_answer`] writes.

mod answer;
mod edits;
mod render;

pub use answer::{FormatFailure, parse_answer};
pub(crate) use answer::{is_python_space, split_answer};
pub use edits::{EditBlocks, edit_blocks};
pub use render::{render_answer, render_edit, render_edits};

/// Opens the thought. All four tags are case-sensitive and must occur exactly once.
pub const THINK_OPEN: &str = "<think>";
/// Closes the thought.
pub const THINK_CLOSE: &str = "</think>";
/// Opens the solution, which holds the edits.
pub const SOLUTION_OPEN: &str = "<solution>";
/// Closes the solution.
pub const SOLUTION_CLOSE: &str = "</solution>";
/// Opens and closes the block of one edit; an info string may follow the opening one.
pub const FENCE: &str = "```";
/// Begins the path line of an edit.
pub const PATH_PREFIX: &str = "### ";
/// The line before the text to search.
pub const SEARCH_MARK: &str = "<<<<<<< SEARCH";
/// The line between search and replacement.
pub const DIVIDER: &str = "=======";
/// The line after the replacement.
pub const REPLACE_MARK: &str = ">>>>>>> REPLACE";

/// The four tags in the order in which they are checked.
pub const TAGS: [&str; 4] = [THINK_OPEN, THINK_CLOSE, SOLUTION_OPEN, SOLUTION_CLOSE];

/// One search/replace edit of one file.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Edit {
    /// The file, exactly as the rest of the path line: untrimmed.
    pub path: String,
    /// The text to find; it matches from a line start on, but may end inside a line.
    pub search: String,
    /// The text to put in its place.
    pub replace: String,
}

/// A whole answer that keeps the format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Answer {
    /// The thought, trimmed, never empty when parsed.
    pub thought: String,
    /// The edits in order, at least one when parsed.
    pub edits: Vec<Edit>,
}
