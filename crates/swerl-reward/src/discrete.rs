//! The discrete reward, the ablation of the continuous one.

use crate::score::{FORMAT_PENALTY, Score};

/// 1 for patches equal to the oracle's, 0 for other valid answers, -1 for broken ones.
///
/// Source: SWE-RL, arXiv:2502.18449, the ablation of the reward.
#[must_use]
pub fn discrete_reward(score: &Score) -> f64 {
    match (score.is_valid(), score.is_exact()) {
        (false, _) => FORMAT_PENALTY,
        (true, true) => 1.0,
        (true, false) => 0.0,
    }
}
