//! Truncated importance sampling between sampler and trainer.
//!
//! ```text
//! c = min(exp(old - behaviour), cap)        detached; multiplies the surrogate alone
//! ```
//! An engine that samples with other kernels or in another precision is another policy than the
//! trainer's, though the weights are the same. The weight, taken by token or by sequence as
//! [`RatioLevel`] says, makes up for it where the old log-probs are the trainer's own. KL and
//! entropy terms are not weighted. Source: F. Yao et al., "Your efficient RL framework secretly
//! brings you off-policy RL training", 2025.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::{Layout, RatioLevel, log_ratio};

/// The weight's level and bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruncatedImportance {
    /// What one weight covers: a token or a sequence.
    pub level: RatioLevel,
    /// Largest weight, above 0. Usual: 2 to 3.
    pub cap: f64,
}

/// The weight at each token, `[targets]`, from the trainer's `old` and the sampler's `behaviour`
/// log-probs, both `[targets]` and without a graph.
///
/// # Panics
/// If a length differs from the layout's number of targets.
#[must_use]
pub fn importance_weight(
    old: Tensor<1>,
    behaviour: Tensor<1>,
    rule: &TruncatedImportance,
    layout: &Layout,
) -> Tensor<1> {
    log_ratio(old, behaviour, rule.level, layout).exp().clamp_max(rule.cap)
}
