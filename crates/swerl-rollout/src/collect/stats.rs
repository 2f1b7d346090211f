//! Figures of one step's rollouts. Each is defined here, once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swerl_grpo::Finish;

use super::ScoredGroup;

/// Figures over the completions of one step. Shares are in [0, 1]; rewards in -1 or [0, 1].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutStats {
    /// The training step.
    pub step: u64,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of completions.
    pub completions: u64,
    /// Completions that were aborted, or that an external reward could not judge: in no share and no
    /// mean below.
    pub unjudged: u64,
    /// Tokens of the prompts, each counted once.
    pub prompt_tokens: u64,
    /// Tokens of the completions.
    pub completion_tokens: u64,
    /// Mean reward of the judged completions; 0 where there is none, as every share and mean.
    pub reward_mean: f64,
    /// Population standard deviation of those rewards.
    pub reward_std: f64,
    /// Share of judged completions that keep the answer format and apply.
    pub format_valid: f64,
    /// Mean reward of the format-valid completions, which is their similarity to the oracle;
    /// `None` where there is none.
    pub valid_similarity: Option<f64>,
    /// Share of judged completions whose patch equals the oracle's.
    pub exact: f64,
    /// Share of judged completions that the length limit cut.
    pub truncated: f64,
    /// Files left out of prompts for lack of room.
    pub files_skipped: u64,
    /// Prompts longer than the budget, because no file fitted.
    pub prompts_over_budget: u64,
    /// Judged completions by name of outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Seconds of wall clock spent sampling.
    pub sample_s: f64,
    /// Seconds of wall clock spent scoring.
    pub score_s: f64,
}

impl RolloutStats {
    /// The figures of `groups`, from what was earned: permuted rewards change nothing here.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // Counts are far below 2^53.
    pub fn of(step: u64, groups: &[ScoredGroup]) -> Self {
        let mut stats = Self { step, prompts: groups.len() as u64, ..Self::default() };
        let (mut rewards, mut similarities) = (Vec::new(), Vec::new());
        let (mut exact, mut truncated) = (0_u64, 0_u64);
        for group in groups {
            stats.prompt_tokens += group.prompt.ids.len() as u64;
            stats.files_skipped += group.prompt.skipped.len() as u64;
            stats.prompts_over_budget += u64::from(group.prompt.over_budget);
            let scored = group.completions.iter().zip(&group.scores).enumerate();
            for (sample, (completion, score)) in scored {
                stats.completions += 1;
                stats.completion_tokens += completion.ids.len() as u64;
                let Some(earned) = group.earned(sample) else {
                    stats.unjudged += 1;
                    continue;
                };
                truncated += u64::from(completion.finish == Finish::Length);
                exact += u64::from(score.is_exact());
                if score.is_valid() {
                    similarities.push(score.reward);
                }
                rewards.push(earned);
                *stats.outcomes.entry(score.outcome.kind().to_owned()).or_default() += 1;
            }
        }
        stats.valid_similarity = mean(&similarities);
        if let Some(reward_mean) = mean(&rewards) {
            let count = rewards.len() as f64;
            let squares: Vec<f64> = rewards.iter().map(|r| (r - reward_mean).powi(2)).collect();
            stats.reward_mean = reward_mean;
            stats.reward_std = mean(&squares).map_or(0.0, f64::sqrt);
            stats.format_valid = similarities.len() as f64 / count;
            stats.exact = exact as f64 / count;
            stats.truncated = truncated as f64 / count;
        }
        stats
    }

    /// Completion tokens per second of sampling; 0 when no time was measured.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn tokens_per_s(&self) -> f64 {
        if self.sample_s > 0.0 { self.completion_tokens as f64 / self.sample_s } else { 0.0 }
    }
}

/// Arithmetic mean, summed in order; `None` of nothing.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
