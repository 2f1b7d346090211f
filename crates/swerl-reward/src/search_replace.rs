//! The search/replace entry: the reward of an output as trained on, rules R1 to R10.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::apply;
use crate::explain::nearest_lines;
use crate::format::{Edit, edit_blocks, split_answer};
use crate::limits::{Limit, Limits};
use crate::outcome::Outcome;
use crate::patch::normalized_patches_with;
use crate::score::Score;
use crate::similarity::Matcher;

/// What outputs for one prompt are scored against; its oracle patches are made once.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    context: &'a BTreeMap<String, String>,
    patches: BTreeMap<String, String>,
}

impl<'a> Target<'a> {
    /// `context` is path to text of the files shown, `oracle` path to full new text.
    #[must_use]
    pub fn new(context: &'a BTreeMap<String, String>, oracle: &BTreeMap<String, String>) -> Self {
        let patches = normalized_patches_with(&mut Matcher::new(), context, oracle);
        Self { context, patches }
    }

    /// The normalised oracle patches by path.
    #[must_use]
    pub fn patches(&self) -> &BTreeMap<String, String> {
        &self.patches
    }
}

/// How to score: the limits, and whether misses are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scorer {
    pub(crate) limits: Limits,
    explain: bool,
}

impl Default for Scorer {
    fn default() -> Self {
        Self { limits: Limits::default(), explain: true }
    }
}

impl Scorer {
    /// The default limits, with explanations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what one output may cost.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether a missed search text gets its nearest lines. On by default.
    #[must_use]
    pub fn with_explanations(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// Scores one output; `matcher` is scratch memory. Never panics on any output.
    #[must_use]
    pub fn score(&self, matcher: &mut Matcher, target: &Target<'_>, output: &str) -> Score {
        if output.len() > self.limits.output_bytes {
            return Score::failed(Outcome::LimitPassed { limit: Limit::OutputBytes });
        }
        let (thought, solution) = match split_answer(output) {
            Ok(parts) => parts,
            Err(failure) => return Score::failed(failure.into()),
        };
        let mut score = self.score_solution(matcher, target, solution);
        score.thought = Some(thought.to_owned());
        score
    }

    /// [`Scorer::score`], or `None` where that takes longer than `limit`: an output that could
    /// not be judged, to be masked and not punished (see [`crate::combine`]).
    ///
    /// The work itself stops, also in the middle of a comparison; no thread is left behind. Whether a
    /// limit is met depends on the machine, so it makes a run depend on it too: [`Limits`] bound the
    /// same cost by counting, and are what a run should rely on. [`Matcher::within`] does the same for
    /// the other entries.
    ///
    /// ```
    /// use std::{collections::BTreeMap, time::Duration};
    /// use swerl_reward::{Scorer, Target, similarity::Matcher};
    /// let files = BTreeMap::from([("a".to_owned(), "x\n".to_owned())]);
    /// let target = Target::new(&files, &files);
    /// let score = Scorer::new().score_within(Duration::from_secs(5), &mut Matcher::new(), &target, "no tags");
    /// assert_eq!(score.unwrap().reward, -1.0);
    /// ```
    #[must_use]
    pub fn score_within(
        &self,
        limit: Duration,
        matcher: &mut Matcher,
        target: &Target<'_>,
        output: &str,
    ) -> Option<Score> {
        matcher.within(limit, |matcher| self.score(matcher, target, output))
    }

    fn score_solution(&self, matcher: &mut Matcher, target: &Target<'_>, solution: &str) -> Score {
        let most = self.limits.edits;
        let edits: Vec<Edit> = edit_blocks(solution).take(most.saturating_add(1)).collect();
        let failed = |outcome| Score { edits: edits.len(), ..Score::failed(outcome) };
        if edits.is_empty() {
            return failed(Outcome::NoEdits);
        }
        if edits.len() > most {
            return failed(Outcome::LimitPassed { limit: Limit::Edits });
        }
        let new = match apply::run(target.context, &edits, &self.limits, || matcher.late()) {
            Ok(new) => new,
            Err(stopped) => {
                let mut score = failed(stopped.failure.into());
                if let (true, Outcome::SearchNotFound { index, .. }) =
                    (self.explain && !matcher.late(), &score.outcome)
                {
                    score.near_miss = nearest_lines(&stopped.working[1..], &edits[*index].search);
                }
                return score;
            }
        };
        let scored = matcher.bounded(self.limits.compared_symbols, |matcher| {
            let predicted = normalized_patches_with(matcher, target.context, &new);
            Score::of_patches(matcher, &predicted, &target.patches)
        });
        let limit = Limit::ComparedSymbols;
        scored.map_or_else(
            || failed(Outcome::LimitPassed { limit }),
            |score| Score { edits: edits.len(), ..score },
        )
    }
}

/// The SWE-RL reward of one output, rules R1 to R10, with the default [`Scorer`].
///
/// `context` is path to text of the files shown to the model, `oracle` path to full new text
/// of the merged change. The reward is -1 or in `[0, 1]`; nothing the model writes is an error.
/// For many outputs make a [`Target`] per prompt and use [`Scorer::score`] or [`Scorer::score_batch`].
#[must_use]
pub fn score_search_replace(
    context: &BTreeMap<String, String>,
    oracle: &BTreeMap<String, String>,
    output: &str,
) -> Score {
    Scorer::new().score(&mut Matcher::new(), &Target::new(context, oracle), output)
}
