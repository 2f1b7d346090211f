//! The unified diff entry: two lists of patches as `git diff` or `diff -u` write them.
//!
//! Each text gives a map from path to normalised patch; a text that does not parse gives an
//! empty one, and a later text for the same path replaces the earlier. Then rules R8 and R9;
//! never the format penalty. Binary files are skipped. A rename is keyed by its source path
//! and begins with the line `rename from X to Y`. The body is the hunks' texts, each trimmed
//! and its header written anew with both lengths (`@@ -2,1 +2,1 @@`), joined by LF.
//!
//! Headers are not recounted nor is anything applied: a patch is compared as it is written.

mod file;
mod hunk;
mod parse;

use std::collections::BTreeMap;

pub use parse::{UnidiffFailure, parse_unidiff};

use crate::limits::Limit;
use crate::score::Score;
use crate::search_replace::Scorer;
use crate::similarity::Matcher;

/// Scores predicted unified diffs against the oracle's, under the default
/// [`Limits`](crate::Limits). The reward is in `[0, 1]`.
///
/// ```
/// let patch = |line: &str| format!("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+{line}\n");
/// let score = swerl_reward::score_unidiff(&[patch("TWO")], &[patch("TWO")]);
/// assert!(score.is_exact());
/// ```
#[must_use]
pub fn score_unidiff<S: AsRef<str>, T: AsRef<str>>(predicted: &[S], oracle: &[T]) -> Score {
    Scorer::new().score_unidiff(&mut Matcher::new(), predicted, oracle)
}

impl Scorer {
    /// [`score_unidiff`] under this scorer's limits; `matcher` is scratch memory.
    #[must_use]
    pub fn score_unidiff<S: AsRef<str>, T: AsRef<str>>(
        &self,
        matcher: &mut Matcher,
        predicted: &[S],
        oracle: &[T],
    ) -> Score {
        let limits = &self.limits;
        let bytes =
            predicted.iter().fold(0usize, |sum, text| sum.saturating_add(text.as_ref().len()));
        if bytes > limits.output_bytes {
            return Score::limited(Limit::OutputBytes);
        }
        let (predicted, oracle) = (gather(predicted), gather(oracle));
        if predicted.len() > limits.edits.saturating_add(oracle.len()) {
            return Score::limited(Limit::Edits);
        }
        let grown = predicted.iter().any(|(path, patch)| {
            let known = oracle.get(path).map_or(0, String::len);
            patch.len().saturating_sub(known) > limits.growth_bytes
        });
        if grown {
            return Score::limited(Limit::GrowthBytes);
        }
        let scored = matcher.bounded(limits.compared_symbols, |matcher| {
            Score::of_patches(matcher, &predicted, &oracle)
        });
        scored.unwrap_or_else(|| Score::limited(Limit::ComparedSymbols))
    }
}

fn gather<S: AsRef<str>>(texts: &[S]) -> BTreeMap<String, String> {
    let mut patches = BTreeMap::new();
    for text in texts {
        // What does not parse counts as no patch; the model's text is never an error.
        patches.extend(parse_unidiff(text.as_ref()).unwrap_or_default());
    }
    patches
}
