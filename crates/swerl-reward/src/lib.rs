#![doc = include_str!("../README.md")]

mod apply;
mod batch;
pub mod combine;
mod discrete;
mod explain;
pub mod format;
mod general;
mod limits;
mod lines;
mod minimal;
mod outcome;
mod patch;
mod score;
mod search_replace;
pub mod similarity;
mod unidiff;

pub use apply::{ApplyFailure, apply_edits, apply_edits_within};
pub use batch::Job;
pub use discrete::discrete_reward;
pub use explain::{NearMiss, nearest_lines};
pub use format::{Answer, Edit, FormatFailure, parse_answer, render_answer, render_edit};
pub use general::score_contents;
pub use limits::{Limit, Limits};
pub use lines::split_lines;
pub use minimal::minimal_edits;
pub use outcome::Outcome;
pub use patch::{normalized_patches, unified_patch, unified_patch_with};
pub use score::{FORMAT_PENALTY, Score};
pub use search_replace::{Scorer, Target, score_search_replace};
pub use unidiff::{UnidiffFailure, parse_unidiff, score_unidiff};
