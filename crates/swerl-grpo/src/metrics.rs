//! What is measured in a step, each quantity defined once.
//!
//! "Judged" samples have a reward; "trained" ones also took part in the loss (a sample whose
//! advantage is 0 in a loss without KL and entropy term has no gradient and is left out, though it
//! counts in the denominators). Means over tokens are over the policy tokens of trained samples.
//! With several updates per batch, tokens, entropy and KL are those of the first pass, ratios and
//! clip fractions those of all passes. A quantity without anything to measure is `None`. Times are set apart in [`PhaseTimes`]: all
//! else is equal to the bit when a run is repeated.

use serde::{Deserialize, Serialize};

/// Wall time of a step by phase, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Collecting: sampling and scoring, inside the rollout source. 0 in fine-tuning.
    pub collect: f64,
    /// Forward and backward passes.
    pub gradient: f64,
    /// Clipping and the optimizer's step.
    pub update: f64,
    /// Writing the checkpoint that followed the step before.
    pub checkpoint: f64,
}

impl PhaseTimes {
    /// The whole step.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.collect + self.gradient + self.update + self.checkpoint
    }
}

/// Measurements of one GRPO step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepMetrics {
    /// Number of steps done, this one included.
    pub step: u64,
    /// Number of groups.
    pub groups: usize,
    /// Number of sequences.
    pub samples: usize,
    /// Sequences without a reward, because they could not be judged.
    pub unscored: usize,
    /// Sequences that took part in the loss.
    pub trained: usize,
    /// Policy tokens of all sequences.
    pub policy_tokens: usize,
    /// Policy tokens of trained sequences.
    pub trained_tokens: usize,
    /// Number of micro-batches of a pass.
    pub micro_batches: usize,
    /// Number of updates of the weights: 0 when no sample was trained.
    pub updates: usize,
    /// Mean reward of judged sequences.
    pub reward_mean: Option<f64>,
    /// Population standard deviation of the rewards of judged sequences, over all groups.
    pub reward_std: Option<f64>,
    /// Share of groups without spread: rewards equal within the tolerance.
    pub frac_reward_zero_std: f64,
    /// Mean number of policy tokens of a sequence.
    pub completion_length_mean: f64,
    /// Fewest policy tokens of a sequence.
    pub completion_length_min: usize,
    /// Most policy tokens of a sequence.
    pub completion_length_max: usize,
    /// Share of sequences cut by the length limit.
    pub truncated_fraction: f64,
    /// Share of sequences that the sampler gave up.
    pub aborted_fraction: f64,
    /// The loss without the supervised term, mean over the updates.
    pub loss: f64,
    /// Cross-entropy of the supervised term's sequences at the weights that the step starts with, in
    /// nats a token; `None` without the term.
    pub supervised_loss: Option<f64>,
    /// Mean KL to the reference in nats a token, by the loss's own estimator; `None` without one.
    pub kl: Option<f64>,
    /// Mean entropy in nats a token.
    pub entropy: Option<f64>,
    /// Share of tokens where the bound below acts: ratio under `1 - low` (`mask`: probability moved
    /// below `-low`) with a negative advantage; `cispo`: ratio under its bound.
    pub clip_fraction_low: f64,
    /// Share of tokens where the bound above acts: ratio over `1 + high` (`mask`: probability moved
    /// above `high`) with a positive advantage; `cispo`: ratio over its bound.
    pub clip_fraction_high: f64,
    /// Smallest unclipped ratio of the loss at a token.
    pub ratio_min: Option<f64>,
    /// Mean unclipped ratio of the loss over tokens.
    pub ratio_mean: Option<f64>,
    /// Largest unclipped ratio of the loss at a token.
    pub ratio_max: Option<f64>,
    /// Mean absolute difference of the sampler's and the trainer's log-probs in nats, over the
    /// tokens that the weights of this step sampled; `None` too when the check is off.
    pub sampler_difference_mean: Option<f64>,
    /// Largest absolute difference of the same in nats.
    pub sampler_difference_max: Option<f64>,
    /// Mean of `exp(trainer - sampler)` over the same tokens.
    pub sampler_ratio_mean: Option<f64>,
    /// Global L2 norm of the gradient before clipping, mean over the updates.
    pub grad_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Wall times.
    pub times: PhaseTimes,
}

impl StepMetrics {
    /// Policy tokens of all sequences per second of the whole step.
    #[must_use]
    pub fn tokens_per_second(&self) -> f64 {
        self.policy_tokens as f64 / self.times.total()
    }

    /// The same without times: what a repeated run gives to the bit.
    #[must_use]
    pub fn without_times(&self) -> Self {
        Self { times: PhaseTimes::default(), ..self.clone() }
    }
}

/// Measurements of one fine-tuning step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SftMetrics {
    /// Number of steps done, this one included.
    pub step: u64,
    /// Number of steps of the whole run.
    pub steps: u64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// Number of sequences.
    pub samples: usize,
    /// Number of tokens trained.
    pub trained_tokens: usize,
    /// Number of tokens computed, prompts included.
    pub tokens: usize,
    /// Number of micro-batches.
    pub micro_batches: usize,
    /// Mean cross-entropy of the trained tokens, in nats a token.
    pub loss: f64,
    /// Mean entropy in nats a token.
    pub entropy: f64,
    /// Global L2 norm of the gradient before clipping.
    pub grad_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Wall times.
    pub times: PhaseTimes,
}

impl SftMetrics {
    /// Computed tokens per second of the whole step.
    #[must_use]
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.times.total()
    }

    /// The same without times: what a repeated run gives to the bit.
    #[must_use]
    pub fn without_times(&self) -> Self {
        Self { times: PhaseTimes::default(), ..self.clone() }
    }
}
