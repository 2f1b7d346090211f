//! The general entry: two sets of new file contents, whatever kind of edit made them.
//!
//! Rules R6 to R9; never the format penalty.

use std::collections::BTreeMap;

use crate::limits::{Limit, Limits};
use crate::patch::normalized_patches_with;
use crate::score::Score;
use crate::search_replace::Scorer;
use crate::similarity::Matcher;

type Files = BTreeMap<String, String>;

/// Scores predicted file contents against the oracle's, path to full new text, under the default
/// [`Limits`].
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
pub fn score_contents(context: &Files, predicted: &Files, oracle: &Files) -> Score {
    Scorer::new().score_contents(&mut Matcher::new(), context, predicted, oracle)
}

impl Scorer {
    /// [`score_contents`] under this scorer's limits; `matcher` is scratch memory.
    #[must_use]
    pub fn score_contents(
        &self,
        matcher: &mut Matcher,
        context: &Files,
        predicted: &Files,
        oracle: &Files,
    ) -> Score {
        if let Some(limit) = passed(&self.limits, context, predicted, oracle) {
            return Score::limited(limit);
        }
        let oracle = normalized_patches_with(matcher, context, oracle);
        let scored = matcher.bounded(self.limits.compared_symbols, |matcher| {
            let predicted = normalized_patches_with(matcher, context, predicted);
            Score::of_patches(matcher, &predicted, &oracle)
        });
        scored.unwrap_or_else(|| Score::limited(Limit::ComparedSymbols))
    }
}

/// The first limit that predicted contents pass.
fn passed(limits: &Limits, context: &Files, predicted: &Files, oracle: &Files) -> Option<Limit> {
    let (mut added, mut changed) = (0usize, 0usize);
    let length = |files: &Files, path| files.get(path).map_or(0, String::len);
    for (path, text) in predicted.iter().filter(|(path, text)| context.get(*path) != Some(text)) {
        let known = length(context, path).saturating_add(length(oracle, path));
        let growth = text.len().saturating_sub(known);
        if growth > limits.growth_bytes {
            return Some(Limit::GrowthBytes);
        }
        added = added.saturating_add(growth);
        changed += 1;
    }
    if added > limits.output_bytes {
        return Some(Limit::OutputBytes);
    }
    (changed > limits.edits.saturating_add(oracle.len())).then_some(Limit::Edits)
}
