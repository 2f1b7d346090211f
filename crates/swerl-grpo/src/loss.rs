//! The policy-gradient loss with its bounds, KL and entropy terms, on tensors.
//!
//! ```text
//! loss = sum_s w[s] * sum_t ( -c[s,t] * surrogate[s,t] + beta * kl[s,t] + drift * (lp - behaviour)^2
//!                             - e * entropy[s,t] )
//! ```
//!
//! `s` runs over samples, `t` over the tokens that the policy made. The weights `w` carry the
//! aggregation ([`Aggregation`]) and are computed over the WHOLE batch, so that a batch split into
//! micro-batches gives the same sum. The surrogate ([`Surrogate`]) takes the ratio
//! ([`RatioLevel`]) and the advantage; `c` is [`TruncatedImportance`]'s weight, or 1. A
//! sequence-level ratio is the same at each of its tokens; with [`Aggregation::SequenceMean`] its
//! term counts once per sequence.
//!
//! Sources: PPO (arXiv:1707.06347, eq. 7), DeepSeekMath (arXiv:2402.03300), SWE-RL
//! (arXiv:2502.18449, eq. 2), DAPO (arXiv:2503.14476), GSPO (arXiv:2507.18071); those of a part
//! stand in its module.

mod aggregation;
mod importance;
mod kl;
mod layout;
mod ratio;
mod rule;
mod surrogate;

use burn::tensor::Tensor;

pub use aggregation::Aggregation;
pub use importance::{TruncatedImportance, importance_weight};
pub use kl::{Kl, KlEstimator, KlPlacement, kl_per_token};
pub use layout::Layout;
pub use ratio::{MAX_LOG_RATIO, RatioLevel, log_ratio};
pub use rule::{LossRule, OldLogProbs};
pub use surrogate::{CispoBound, Clip, ProbabilityMask, Surrogate};

use crate::policy::{PolicyError, TokenScores, read};

/// What the loss is computed from, besides the current scores. One value per target or sample.
#[derive(Debug, Clone, Copy)]
pub struct LossInputs<'a> {
    /// Which target belongs to which sample.
    pub layout: &'a Layout,
    /// The sampler's natural log-probs `[targets]`; needed when [`LossRule::reads_sampler`].
    pub behaviour: Option<&'a Tensor<1>>,
    /// The trainer's natural log-probs `[targets]` at the weights that the batch started with, for
    /// [`OldLogProbs::Current`]; `None` while those are the current ones.
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
/// Log-ratios are clamped to [`MAX_LOG_RATIO`], beyond which their gradient is zero.
///
/// # Panics
/// If a length does not fit the layout, the rule has a KL term and `reference` is `None`, or it
/// reads the sampler's log-probs and `behaviour` is.
#[must_use]
pub fn loss(
    log_prob: Tensor<1>,
    entropy: Tensor<1>,
    inputs: &LossInputs<'_>,
    rule: &LossRule,
) -> Tensor<1> {
    let layout = inputs.layout;
    let device = log_prob.device();
    let mut advantage = layout.per_token(inputs.advantages, &device);
    let weight = layout.per_token(inputs.weights, &device);
    let behaviour = || inputs.behaviour.expect("a loss that reads the sampler gets its log-probs");
    let reference = || inputs.reference.expect("a loss with a KL term gets the reference");
    let old = match rule.old {
        OldLogProbs::Behaviour => behaviour().clone(),
        OldLogProbs::Current => inputs.old.cloned().unwrap_or_else(|| log_prob.clone().detach()),
    };
    let mut penalty = None;
    if let Some(kl) = &rule.kl {
        let at = if kl.placement == KlPlacement::Reward { &old } else { &log_prob };
        let term = kl_per_token(at.clone(), reference().clone(), kl);
        if kl.placement == KlPlacement::Reward {
            advantage = advantage - layout.sum_from_here(term).mul_scalar(kl.coefficient);
        } else {
            penalty = Some(term.mul_scalar(kl.coefficient));
        }
    }
    let ratio = log_ratio(log_prob.clone(), old.clone(), rule.ratio, layout).exp();
    let mut surrogate = rule.surrogate.per_token(&log_prob, &old, ratio, &advantage);
    if let Some(importance) = &rule.truncated_importance {
        let weight = importance_weight(old, behaviour().clone(), importance, layout);
        surrogate = surrogate * weight;
    }
    let mut terms = surrogate.neg();
    if let Some(penalty) = penalty {
        terms = terms + penalty;
    }
    if let Some(drift) = rule.drift {
        let moved = (log_prob - behaviour().clone()).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
        terms = terms + moved.square().mul_scalar(drift);
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
