//! The clipped policy-gradient loss with KL and entropy terms, on tensors.
//!
//! ```text
//! loss = sum_s w[s] * sum_t ( -surrogate[s,t] + beta * kl[s,t] - c * entropy[s,t] )
//! surrogate = min(rho * A[s], clip(rho, 1 - low, 1 + high) * A[s])     rho = exp(log-ratio)
//! ```
//!
//! `s` runs over samples, `t` over the tokens that the policy made. The weights `w` carry the
//! aggregation ([`Aggregation`]) and are computed over the WHOLE batch, so that a batch split into
//! micro-batches gives the same sum. A sequence-level ratio is the same at each of its tokens;
//! with [`Aggregation::SequenceMean`] its term counts once per sequence.
//!
//! Sources: PPO (arXiv:1707.06347, eq. 7), DeepSeekMath (arXiv:2402.03300), SWE-RL
//! (arXiv:2502.18449, eq. 2), DAPO (arXiv:2503.14476), GSPO (arXiv:2507.18071), dual clip
//! (arXiv:1912.09729).

mod kl;
mod layout;
mod ratio;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

pub use kl::{Kl, KlEstimator, kl_per_token};
pub use layout::Layout;
pub use ratio::{MAX_LOG_RATIO, RatioLevel, log_ratio};

use crate::policy::{PolicyError, TokenScores, read};

/// How tokens are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Aggregation {
    /// Mean over the tokens of a sample, then over samples (GRPO): `w = 1 / (S * len)`.
    SequenceMean,
    /// Mean over all tokens of the batch (DAPO): `w = 1 / sum(len)`.
    TokenMean,
    /// Sum over tokens divided by a constant, mean over samples (Dr. GRPO): `w = 1 / (S * length)`.
    Constant {
        /// The constant, in tokens, above 0. Usual: the longest completion allowed.
        length: u32,
    },
}

impl Aggregation {
    /// The weight of each of a sample's tokens. `samples` and `tokens` count the judged samples
    /// of the whole batch and their policy tokens; `len` is this sample's.
    #[must_use]
    pub fn weight(self, samples: usize, tokens: usize, len: usize) -> f64 {
        match self {
            Self::SequenceMean => 1.0 / (samples as f64 * len as f64),
            Self::TokenMean => 1.0 / tokens as f64,
            Self::Constant { length } => 1.0 / (samples as f64 * f64::from(length)),
        }
    }
}

/// The trust region of the ratio: `1 - low ..= 1 + high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// From 0 to 1. Usual: 0.2.
    pub low: f64,
    /// At least 0. Usual: 0.2; 0.28 as "clip higher".
    pub high: f64,
    /// Bound of `-surrogate / |A|` for negative advantages, above 1; `None` for no bound. verl: 3.
    pub dual: Option<f64>,
}

/// Which log-probs the ratio's denominator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldLogProbs {
    /// The current ones without their graph: with one update per batch the ratio is exactly 1.
    Current,
    /// Those that the sampler reported.
    Behaviour,
}

/// The loss. No default: it changes the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossRule {
    /// Whether the ratio is taken by token or by sequence.
    pub ratio: RatioLevel,
    /// The ratio's denominator.
    pub old: OldLogProbs,
    /// The trust region.
    pub clip: Clip,
    /// How tokens are averaged.
    pub aggregation: Aggregation,
    /// KL penalty towards a reference policy; `None` keeps no reference.
    pub kl: Option<Kl>,
    /// Coefficient of the entropy bonus, in reward units per nat, at least 0. Usual: 0.
    pub entropy: f64,
}

/// What the loss is computed from, besides the current scores. One value per target or sample.
#[derive(Debug, Clone, Copy)]
pub struct LossInputs<'a> {
    /// Which target belongs to which sample.
    pub layout: &'a Layout,
    /// Denominator of the ratio, natural log-probs `[targets]`; `None` for the current ones.
    pub old: Option<&'a Tensor<1>>,
    /// The reference policy's natural log-probs `[targets]`; needed when the rule has a KL term.
    pub reference: Option<&'a Tensor<1>>,
    /// Advantage per sample, dimensionless.
    pub advantages: &'a [f64],
    /// Weight of each token of a sample, from [`Aggregation::weight`].
    pub weights: &'a [f64],
}

/// The loss as a scalar tensor `[1]`, differentiable in `log_prob` and `entropy` `[targets]`.
///
/// The log-ratio is clamped to [`MAX_LOG_RATIO`], beyond which its gradient is zero.
///
/// # Panics
/// If a length does not fit the layout, or the rule has a KL term and `reference` is `None`.
#[must_use]
pub fn loss(
    log_prob: Tensor<1>,
    entropy: Tensor<1>,
    inputs: &LossInputs<'_>,
    rule: &LossRule,
) -> Tensor<1> {
    let layout = inputs.layout;
    let device = log_prob.device();
    let advantage = layout.per_token(inputs.advantages, &device);
    let weight = layout.per_token(inputs.weights, &device);
    let old = match inputs.old {
        Some(old) => old.clone(),
        None => log_prob.clone().detach(),
    };
    let ratio = log_ratio(log_prob.clone(), old, rule.ratio, layout).exp();
    let low = 1.0 - rule.clip.low;
    let high = 1.0 + rule.clip.high;
    let clipped = ratio.clone().clamp(low, high) * advantage.clone();
    let mut surrogate = (ratio * advantage.clone()).min_pair(clipped);
    if let Some(bound) = rule.clip.dual {
        // For A >= 0 the bound is -infinity in effect: a value below any surrogate.
        let floor = advantage.clone().clamp_max(0.0).mul_scalar(bound);
        let bounded = surrogate.clone().max_pair(floor);
        surrogate = surrogate.mask_where(advantage.lower_scalar(0.0), bounded);
    }
    let mut terms = surrogate.neg();
    if let Some(kl) = &rule.kl {
        let reference =
            inputs.reference.expect("a loss with a KL term gets the reference's log-probs");
        terms = terms + kl_per_token(log_prob, reference.clone(), kl).mul_scalar(kl.coefficient);
    }
    if rule.entropy != 0.0 {
        terms = terms - entropy.mul_scalar(rule.entropy);
    }
    (terms * weight).sum()
}

/// The loss and its gradients with respect to log-prob and entropy, for [`crate::policy::Policy`].
///
/// # Errors
/// [`PolicyError::Read`] when the device fails.
///
/// # Panics
/// As [`loss`].
pub fn loss_and_upstream(
    scores: &TokenScores,
    inputs: &LossInputs<'_>,
    rule: &LossRule,
) -> Result<(f64, TokenScores), PolicyError> {
    let leaf = |tensor: &Tensor<1>| tensor.clone().inner().autodiff().require_grad();
    let (log_prob, entropy) = (leaf(&scores.log_prob), leaf(&scores.entropy));
    let value = loss(log_prob.clone(), entropy.clone(), inputs, rule);
    let mut gradients = value.backward();
    let upstream = TokenScores {
        log_prob: gradient_or_zeros(&log_prob, &mut gradients),
        entropy: gradient_or_zeros(&entropy, &mut gradients),
    };
    let value = read("loss", value)?;
    Ok((f64::from(value[0]), upstream))
}

fn gradient_or_zeros(leaf: &Tensor<1>, gradients: &mut burn::tensor::Gradients) -> Tensor<1> {
    leaf.grad_remove(gradients).unwrap_or_else(|| leaf.clone().inner().zeros_like())
}
