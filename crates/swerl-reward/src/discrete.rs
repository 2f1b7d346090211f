//! The discrete reward, the ablation of the continuous one.

use crate::score::Score;

/// 1 for patches equal to the oracle's, 0 for other valid answers; for broken ones their reward, -1.
///
/// Source: SWE-RL, arXiv:2502.18449, the ablation of the reward.
#[must_use]
pub fn discrete_reward(score: &Score) -> f64 {
    match (score.is_valid(), score.is_exact()) {
        (false, _) => score.reward,
        (true, true) => 1.0,
        (true, false) => 0.0,
    }
}
