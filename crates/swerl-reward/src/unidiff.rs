//! The unified diff entry: two lists of patches as `git diff` or `diff -u` write them.
//!
//! Each text gives a map from path to normalised patch; a text that does not parse gives an
//! empty one, and a later text for the same path replaces the earlier. Then rules R8 and R9;
//! never the format penalty. Binary files are skipped. A rename is keyed by its source path
//! and begins with the line `rename from X to Y`. The body is the hunks' texts, each trimmed
//! and its header written anew with both lengths (`@@ -2,1 +2,1 @@`), joined by LF.
//!
//! Headers are not recounted nor is anything applied: a patch is compared as it is written.

mod parse;

use std::collections::BTreeMap;

pub use parse::{UnidiffFailure, parse_unidiff};

use crate::score::Score;
use crate::similarity::Matcher;

/// Scores predicted unified diffs against the oracle's. The reward is in `[0, 1]`.
///
/// Reading is linear. No [`Limits`](crate::Limits) apply: memory is about 50 bytes per character of the longer patch of
/// a path, so whoever takes texts of any length bounds that first.
///
/// ```
/// let patch = |line: &str| format!("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+{line}\n");
/// let score = swerl_reward::score_unidiff(&[patch("TWO")], &[patch("TWO")]);
/// assert!(score.is_exact());
/// ```
#[must_use]
pub fn score_unidiff<S: AsRef<str>, T: AsRef<str>>(predicted: &[S], oracle: &[T]) -> Score {
    Score::of_patches(&mut Matcher::new(), &gather(predicted), &gather(oracle))
}

fn gather<S: AsRef<str>>(texts: &[S]) -> BTreeMap<String, String> {
    let mut patches = BTreeMap::new();
    for text in texts {
        // What does not parse counts as no patch; the model's text is never an error.
        patches.extend(parse_unidiff(text.as_ref()).unwrap_or_default());
    }
    patches
}
