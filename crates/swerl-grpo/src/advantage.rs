//! Group-relative advantages, on the host in f64.
//!
//! ```text
//! A[i] = (r[i] - baseline[i]) / (std[i] + eps)          baseline: mean of the group, or of the others
//! ```
//!
//! Members without a reward (`None`: could not be judged) take no part: they are left out of mean
//! and std and their advantage is 0. A group whose rewards are equal within a tolerance teaches
//! nothing and gives exact zeros: a similarity reward that differs by 1e-7 would otherwise be
//! blown up to advantages of order 1, whatever `eps` is. One judged member alone gives 0, not NaN.
//! O(G), with leave-one-out O(G^2) for a group of G.
//!
//! Sources: DeepSeekMath (arXiv:2402.03300, eq. 3); Dr. GRPO (arXiv:2503.20783) for no division;
//! RLOO (arXiv:2402.14740) for leave-one-out.

use serde::{Deserialize, Serialize};

/// What is subtracted from a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The mean of the group.
    Mean,
    /// The mean of the other members; a std is theirs too. Where the others' rewards are equal
    /// within the tolerance the difference is not divided.
    LeaveOneOut,
}

/// What the difference is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scale {
    /// Nothing.
    None,
    /// `std + eps`.
    Std {
        /// Subtracted from the number of rewards in the variance's denominator: 0 for the
        /// population's std, 1 for the sample's.
        ddof: u8,
        /// Added to the std; at least 0, in units of the reward. Usual: 1e-4 to 1e-9.
        eps: f64,
    },
}

/// How rewards of a group become advantages. No default: it changes the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdvantageRule {
    /// What is subtracted.
    pub baseline: Baseline,
    /// What it is divided by.
    pub scale: Scale,
    /// Rewards whose range `max - min` is at most this count as equal. At least 0, in units of
    /// the reward. Usual: 1e-6.
    pub tolerance: f64,
}

/// The advantages of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantages {
    /// One per member, dimensionless; 0 where the reward is `None`.
    pub values: Vec<f64>,
    /// Number of members with a reward.
    pub scored: usize,
    /// Whether the rewards are equal within the tolerance, or fewer than two: all values are 0.
    pub no_spread: bool,
}

/// Advantages of one group of rewards by `rule`.
///
/// ```
/// use swerl_grpo::advantage::{advantages, AdvantageRule, Baseline, Scale};
///
/// let rule = AdvantageRule {
///     baseline: Baseline::Mean,
///     scale: Scale::Std { ddof: 0, eps: 0.0 },
///     tolerance: 1e-6,
/// };
/// let group = advantages(&[Some(3.0), None, Some(1.0)], &rule);
/// assert_eq!(group.values, [1.0, 0.0, -1.0]);
/// assert_eq!(group.scored, 2);
/// ```
///
/// # Panics
/// If a reward is infinite or not a number, or `ddof` is above 1.
#[must_use]
pub fn advantages(rewards: &[Option<f64>], rule: &AdvantageRule) -> Advantages {
    let scored: Vec<f64> = rewards.iter().copied().flatten().collect();
    assert!(scored.iter().all(|reward| reward.is_finite()), "rewards are finite");
    let no_spread = scored.len() < 2 || range(&scored) <= rule.tolerance;
    let mut values = vec![0.0; rewards.len()];
    if !no_spread {
        let mean_of_all = mean(&scored);
        let std_of_all = std(&scored, rule);
        let mut others = Vec::with_capacity(scored.len());
        let mut index = 0;
        for (value, reward) in values.iter_mut().zip(rewards) {
            let Some(reward) = *reward else { continue };
            *value = match rule.baseline {
                Baseline::Mean => (reward - mean_of_all) / std_of_all,
                Baseline::LeaveOneOut => {
                    others.clear();
                    others.extend_from_slice(&scored[..index]);
                    others.extend_from_slice(&scored[index + 1..]);
                    let divisor = if others.len() < 2 || range(&others) <= rule.tolerance {
                        1.0
                    } else {
                        std(&others, rule)
                    };
                    (reward - mean(&others)) / divisor
                }
            };
            index += 1;
        }
    }
    Advantages { values, scored: scored.len(), no_spread }
}

fn range(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    most - least
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The divisor: `std + eps`, or 1 where the rule does not scale.
fn std(values: &[f64], rule: &AdvantageRule) -> f64 {
    match rule.scale {
        Scale::None => 1.0,
        Scale::Std { ddof, eps } => {
            assert!(ddof <= 1, "ddof is 0 or 1");
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / (values.len() as f64 - f64::from(ddof))).sqrt() + eps
        }
    }
}
