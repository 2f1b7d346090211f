//! What became of an output: scored, or the rule that it broke.
//!
//! Outcomes are values, never errors: the model's text is data. In JSON an outcome is an object
//! whose `kind` is the variant's name in snake case, with the variant's fields beside it.

use std::fmt;

use crate::apply::ApplyFailure;
use crate::format::FormatFailure;
use crate::limits::Limit;

/// The outcome of scoring one output. All but [`Outcome::Scored`] have the reward -1, or 0 where a
/// limit is passed in an entry that knows no penalty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The answer keeps the format, its edits apply; the reward is a similarity in `[0, 1]`.
    Scored,
    /// R1: a tag does not occur exactly once.
    Tags {
        /// The tag.
        tag: String,
        /// How often it occurs.
        count: usize,
    },
    /// R2: the thought is empty.
    EmptyThought,
    /// R4: no edit matches the grammar.
    NoEdits,
    /// R5: an edit whose search text equals its replacement.
    SearchEqualsReplace {
        /// The file named by the edit.
        path: String,
        /// Position of the edit in the answer, from 0.
        index: usize,
    },
    /// R5: an edit whose search text begins no line of the file.
    SearchNotFound {
        /// The file named by the edit.
        path: String,
        /// Position of the edit in the answer, from 0.
        index: usize,
    },
    /// The output would cost more than a limit allows. Not a rule of the published reward.
    LimitPassed {
        /// The limit.
        limit: Limit,
    },
}

impl Outcome {
    /// The name under which the outcome is counted in metrics: the `kind` of its JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Scored => "scored",
            Self::Tags { .. } => "tags",
            Self::EmptyThought => "empty_thought",
            Self::NoEdits => "no_edits",
            Self::SearchEqualsReplace { .. } => "search_equals_replace",
            Self::SearchNotFound { .. } => "search_not_found",
            Self::LimitPassed { .. } => "limit_passed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scored => f.write_str("scored"),
            Self::Tags { tag, count } => {
                write!(f, "the tag {tag} must occur exactly once, it occurs {count} times")
            }
            Self::EmptyThought => FormatFailure::EmptyThought.fmt(f),
            Self::NoEdits => FormatFailure::NoEdits.fmt(f),
            Self::SearchEqualsReplace { path, index } => {
                write!(f, "edit {index} of {path:?}: the search text equals its replacement")
            }
            Self::SearchNotFound { path, index } => {
                write!(f, "edit {index} of {path:?}: the search text is not in the file")
            }
            Self::LimitPassed { limit } => write!(f, "the output passes the limit {limit}"),
        }
    }
}

impl From<FormatFailure> for Outcome {
    fn from(failure: FormatFailure) -> Self {
        match failure {
            FormatFailure::Tags { tag, count } => Self::Tags { tag: tag.to_owned(), count },
            FormatFailure::EmptyThought => Self::EmptyThought,
            FormatFailure::NoEdits => Self::NoEdits,
        }
    }
}

impl From<ApplyFailure> for Outcome {
    fn from(failure: ApplyFailure) -> Self {
        match failure {
            ApplyFailure::SearchEqualsReplace { path, index } => {
                Self::SearchEqualsReplace { path, index }
            }
            ApplyFailure::SearchNotFound { path, index } => Self::SearchNotFound { path, index },
            ApplyFailure::LimitPassed { limit, .. } => Self::LimitPassed { limit },
        }
    }
}
