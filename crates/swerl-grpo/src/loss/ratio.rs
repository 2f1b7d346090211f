//! The log-ratio of current to old policy, by token or by sequence.
//!
//! ```text
//! token:          l[t] = lp[t] - old[t]
//! sequence:       l[t] = sum_u (lp[u] - old[u])              SWE-RL, eq. 2
//! sequence mean:  l[t] = sum_u (lp[u] - old[u]) / len        GSPO
//! ```
//!
//! A raw sequence ratio grows with the length: 0.001 nat a token over 4,000 tokens is a factor of
//! 54.6, where the mean stays at 1.001. At the sampling policy all three are exactly 1.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::Layout;

/// Log-ratios are clamped to `-20 ..= 20` nats before `exp`, where f32 still holds them.
pub const MAX_LOG_RATIO: f64 = 20.0;

/// What one ratio covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatioLevel {
    /// One token.
    Token,
    /// The whole sequence: the product of its tokens' ratios.
    Sequence,
    /// The whole sequence: the geometric mean of its tokens' ratios.
    SequenceMean,
}

/// The clamped log-ratio at each token, `[targets]`; equal within a sample at sequence level.
///
/// # Panics
/// If a length differs from the layout's number of targets.
#[must_use]
pub fn log_ratio(
    log_prob: Tensor<1>,
    old: Tensor<1>,
    level: RatioLevel,
    layout: &Layout,
) -> Tensor<1> {
    assert_eq!(log_prob.dims()[0], layout.targets(), "one log-prob per target");
    let difference = log_prob - old;
    let device = difference.device();
    let combined = match level {
        RatioLevel::Token => difference,
        RatioLevel::Sequence => layout.sum_per_sample(difference),
        RatioLevel::SequenceMean => {
            let inverse: Vec<f64> =
                layout.lengths().iter().map(|&len| 1.0 / len.max(1) as f64).collect();
            layout.sum_per_sample(difference) * layout.per_token(&inverse, &device)
        }
    };
    combined.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
}
