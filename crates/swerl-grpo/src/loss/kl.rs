//! Estimators of `KL(policy || reference)` from the sampled tokens.
//!
//! With `d = lp - ref` at a token drawn from the policy:
//! ```text
//! k1 = d                      unbiased, may be negative
//! k2 = d^2 / 2                biased, never negative
//! k3 = exp(-d) - 1 + d        unbiased, never negative
//! ```
//! The loss differentiates the estimator itself, as GRPO does; k1's gradient is then no KL
//! gradient in expectation (it vanishes), so it serves as a measurement more than as a penalty.
//! Source: J. Schulman, "Approximating KL divergence", 2020.

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

/// A KL penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kl {
    /// The estimator.
    pub estimator: KlEstimator,
    /// Its coefficient beta, in reward units per nat, above 0. Usual: 0.001 to 0.1.
    pub coefficient: f64,
    /// The estimate is clamped to `-clamp ..= clamp` nats, above 0; `None` for no bound. verl: 10.
    pub clamp: Option<f64>,
}

/// The estimate at each token in nats, `[targets]`, without the coefficient.
///
/// The log-ratio is clamped to [`MAX_LOG_RATIO`].
#[must_use]
pub fn kl_per_token(log_prob: Tensor<1>, reference: Tensor<1>, kl: &Kl) -> Tensor<1> {
    let d = (log_prob - reference).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
    let estimate = match kl.estimator {
        KlEstimator::K1 => d,
        KlEstimator::K2 => d.square().mul_scalar(0.5),
        KlEstimator::K3 => d.clone().neg().exp().sub_scalar(1.0) + d,
    };
    match kl.clamp {
        Some(bound) => estimate.clamp(-bound, bound),
        None => estimate,
    }
}
