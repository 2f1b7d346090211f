//! The general entry: two sets of new file contents, whatever kind of edit made them.
//!
//! Rules R6 to R9; never the format penalty.

use std::collections::BTreeMap;

use crate::patch::normalized_patches_with;
use crate::score::Score;
use crate::similarity::Matcher;

/// Scores predicted file contents against the oracle's, path to full new text.
///
/// A path outside the context is a new file, "" a deleted one, a text equal to the context
/// no change. The reward is in `[0, 1]`.
///
/// ```
/// use std::collections::BTreeMap;
/// let file = |text: &str| BTreeMap::from([("a".to_owned(), text.to_owned())]);
/// let score = swerl_reward::score_contents(&file("x\n"), &file("tide\n"), &file("diet\n"));
/// assert_eq!(score.reward, 0.85);
/// ```
#[must_use]
pub fn score_contents(
    context: &BTreeMap<String, String>,
    predicted: &BTreeMap<String, String>,
    oracle: &BTreeMap<String, String>,
) -> Score {
    let mut matcher = Matcher::new();
    let predicted = normalized_patches_with(&mut matcher, context, predicted);
    let oracle = normalized_patches_with(&mut matcher, context, oracle);
    Score::of_patches(&mut matcher, &predicted, &oracle)
}
