//! Estimators of `KL(policy || reference)` from the sampled tokens.
//!
//! With `d = lp - ref` at a token drawn from the policy:
//! ```text
//! k1 = d                      unbiased, may be negative
//! k2 = d^2 / 2                biased, never negative
//! k3 = exp(-d) - 1 + d        unbiased, never negative
//! ```
//! Where it acts is said by [`KlPlacement`]. In the loss, GRPO differentiates the estimator itself;
//! in expectation over the policy's samples that is the KL's gradient for k2 alone: k1's vanishes,
//! and k3's is that of `KL(reference || policy)`. The straight-through form has the estimator's value and k2's
//! gradient. In the reward there is no gradient: each token's advantage loses the KL that is still
//! to come.
//! ```text
//! A[t] = A - beta * sum over u >= t of kl[u]         kl at the old log-probs
//! ```
//! Sources: J. Schulman, "Approximating KL divergence", 2020; the straight-through form is verl's
//! `k1+` and `k3+`; the reward's is OpenRLHF's, with a discount of 1.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::MAX_LOG_RATIO;

/// Which estimator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// The log-ratio.
    K1,
    /// Half its square.
    K2,
    /// The estimator of GRPO.
    K3,
}

impl KlEstimator {
    /// The estimate in nats for the log-ratio `d = lp - ref`, on the host.
    #[must_use]
    pub fn value(self, d: f64) -> f64 {
        match self {
            Self::K1 => d,
            Self::K2 => d * d / 2.0,
            Self::K3 => (-d).exp() - 1.0 + d,
        }
    }
}

/// Where the penalty acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KlPlacement {
    /// In the loss, which differentiates the estimator.
    Loss,
    /// In the loss, with the estimator's value and k2's gradient, `d * grad lp`; the clamp bounds
    /// the value alone.
    LossStraightThrough,
    /// In the reward: taken from the advantages, never differentiated.
    Reward,
}

/// A KL penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kl {
    /// The estimator.
    pub estimator: KlEstimator,
    /// Where it acts.
    pub placement: KlPlacement,
    /// Its coefficient beta, in reward units per nat, above 0. Usual: 0.001 to 0.1.
    pub coefficient: f64,
    /// The estimate is clamped to `-clamp ..= clamp` nats, above 0; `None` for no bound. verl: 10.
    pub clamp: Option<f64>,
}

/// The estimate at each token in nats, `[targets]`, without the coefficient, with the gradient that
/// [`Kl::placement`] says.
///
/// The log-ratio is clamped to [`MAX_LOG_RATIO`].
#[must_use]
pub fn kl_per_token(log_prob: Tensor<1>, reference: Tensor<1>, kl: &Kl) -> Tensor<1> {
    let d = (log_prob - reference).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
    let estimate = match kl.estimator {
        KlEstimator::K1 => d.clone(),
        KlEstimator::K2 => d.clone().square().mul_scalar(0.5),
        KlEstimator::K3 => d.clone().neg().exp().sub_scalar(1.0) + d.clone(),
    };
    let estimate = match kl.clamp {
        Some(bound) => estimate.clamp(-bound, bound),
        None => estimate,
    };
    match kl.placement {
        KlPlacement::Loss => estimate,
        KlPlacement::LossStraightThrough => {
            let half_square = d.square().mul_scalar(0.5);
            // The two halves cancel to exactly 0 and leave their gradient.
            let slope = half_square.clone() - half_square.detach();
            estimate.detach() + slope
        }
        KlPlacement::Reward => estimate.detach(),
    }
}

impl Kl {
    /// The estimate in nats for the log-ratio `d = lp - ref`, clamped as [`kl_per_token`] does.
    pub(crate) fn value(&self, d: f64) -> f64 {
        let estimate = self.estimator.value(d.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO));
        self.clamp.map_or(estimate, |bound| estimate.clamp(-bound, bound))
    }
}
