//! The policy-gradient term of a token, and the bound that keeps it near the old policy.
//!
//! ```text
//! clip    min(rho * A, clip(rho, 1 - low, 1 + high) * A), for A < 0 at least dual * A
//! cispo   detach(bound(rho)) * A * lp                     every token keeps a gradient
//! mask    rho * A                                         0 where the probability moved too far
//! ```
//!
//! Sources: PPO (arXiv:1707.06347, eq. 7), DAPO's clip-higher (arXiv:2503.14476), dual clip
//! (arXiv:1912.09729); CISPO, MiniMax-M1 (arXiv:2506.13585, eq. 4 and 5); the mask is DPPO's
//! binary total variation (arXiv:2602.04879) as prime-rl has it.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// Which term. In a configuration its name is a key of the loss: `clip`, `cispo` or `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surrogate {
    /// PPO's clipped surrogate.
    Clip(Clip),
    /// The bounded importance weight, detached, times advantage and log-prob.
    Cispo(CispoBound),
    /// The plain importance-weighted advantage, without the tokens that moved too far.
    Mask(ProbabilityMask),
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

/// What CISPO's epsilon bounds. Both meanings go by the name `epsilon_high`, so each is named.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CispoBound {
    /// `clip(rho, 1 - low, 1 + high)`: epsilons about 1, as in MiniMax-M1, verl and SkyRL.
    Relative {
        /// From 0 to 1; 1 for no bound below. MiniMax-M1: none. SkyRL: 0.
        low: f64,
        /// At least 0. SkyRL: 5.
        high: f64,
    },
    /// `min(rho, cap)`: the epsilon is the bound itself, as in TRL and ScaleRL.
    Absolute {
        /// Above 0. ScaleRL: 4 to 8.
        cap: f64,
    },
}

impl CispoBound {
    /// The ratios between which the weight is left alone.
    fn range(self) -> (f64, f64) {
        match self {
            Self::Relative { low, high } => (1.0 - low, 1.0 + high),
            Self::Absolute { cap } => (0.0, cap),
        }
    }
}

/// How far a token's probability may move from the old one before it is left out.
///
/// With `m = p - p_old`: out where `A > 0` and `m > high`, or `A < 0` and `m < -low`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityMask {
    /// From 0 to 1. prime-rl: 0.2.
    pub low: f64,
    /// From 0 to 1. prime-rl: 0.2.
    pub high: f64,
}

impl Surrogate {
    /// The term at each token, `[targets]`; larger is better.
    ///
    /// `log_prob` and `ratio` carry the graph; `old` and `advantage` do not. All are `[targets]`.
    #[must_use]
    pub fn per_token(
        &self,
        log_prob: &Tensor<1>,
        old: &Tensor<1>,
        ratio: Tensor<1>,
        advantage: &Tensor<1>,
    ) -> Tensor<1> {
        match self {
            Self::Clip(clip) => clipped(ratio, advantage, clip),
            Self::Cispo(bound) => {
                let (low, high) = bound.range();
                ratio.detach().clamp(low, high) * advantage.clone() * log_prob.clone()
            }
            Self::Mask(mask) => {
                let moved = log_prob.clone().detach().exp() - old.clone().exp();
                let up = advantage.clone().greater_scalar(0.0);
                let above = moved.clone().greater_scalar(mask.high).bool_and(up.clone());
                let below = moved.lower_scalar(-mask.low).bool_and(up.bool_not());
                (ratio * advantage.clone()).mask_fill(above.bool_or(below), 0.0)
            }
        }
    }

    /// Whether the bound below and the one above act on a token, for the metrics: on its value
    /// (`cispo`) or its gradient (`clip`, `mask`). `moved` is `p - p_old`.
    #[must_use]
    pub fn active(&self, ratio: f64, moved: f64, advantage: f64) -> (bool, bool) {
        let (down, up) = (advantage < 0.0, advantage > 0.0);
        match self {
            Self::Clip(clip) => (down && ratio < 1.0 - clip.low, up && ratio > 1.0 + clip.high),
            Self::Cispo(bound) => {
                let (low, high) = bound.range();
                (ratio < low, ratio > high)
            }
            Self::Mask(mask) => (down && moved < -mask.low, up && moved > mask.high),
        }
    }
}

fn clipped(ratio: Tensor<1>, advantage: &Tensor<1>, clip: &Clip) -> Tensor<1> {
    let low = 1.0 - clip.low;
    let high = 1.0 + clip.high;
    let clipped = ratio.clone().clamp(low, high) * advantage.clone();
    let surrogate = (ratio * advantage.clone()).min_pair(clipped);
    let Some(bound) = clip.dual else {
        return surrogate;
    };
    // For A >= 0 the bound is -infinity in effect: a value below any surrogate.
    let floor = advantage.clone().clamp_max(0.0).mul_scalar(bound);
    let bounded = surrogate.clone().max_pair(floor);
    surrogate.mask_where(advantage.clone().lower_scalar(0.0), bounded)
}
