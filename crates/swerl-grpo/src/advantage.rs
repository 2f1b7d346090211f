//! Group-relative advantages, on the host in f64.
//!
//! ```text
//! A[i] = (r[i] - baseline[i]) / (std[i] + eps)
//! ```
//! The baseline is the mean of the group or of the other members; the std is the group's, the
//! others', the whole batch's, or there is none.
//!
//! Members without a reward (`None`: could not be judged) take no part: they are left out of mean
//! and std and their advantage is 0. A group whose rewards are equal within a tolerance teaches
//! nothing and gives exact zeros: a similarity reward that differs by 1e-7 would otherwise be
//! blown up to advantages of order 1, whatever `eps` is. One judged member alone gives 0, not NaN.
//! O(G), with leave-one-out O(G^2) for a group of G.
//!
//! Sources: DeepSeekMath (arXiv:2402.03300, eq. 3); Dr. GRPO (arXiv:2503.20783) for no division;
//! RLOO (arXiv:2402.14740) for leave-one-out; Lite PPO (arXiv:2508.08221) for the batch's std.

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

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
    /// `std + eps` of all judged rewards of the batch, each group keeping its own baseline: a group
    /// that is almost equal is not blown up. Also known as `scale_rewards = "batch"`.
    BatchStd {
        /// As in [`Scale::Std`].
        ddof: u8,
        /// As in [`Scale::Std`].
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

impl AdvantageRule {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::not_negative("advantage.tolerance", self.tolerance)?;
        match self.scale {
            Scale::None => Ok(()),
            Scale::Std { ddof, eps } | Scale::BatchStd { ddof, eps } => {
                ConfigError::within("advantage.scale.ddof", f64::from(ddof), 0.0, 1.0)?;
                ConfigError::not_negative("advantage.scale.eps", eps)
            }
        }
    }
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

/// Advantages of one group of rewards by `rule`: [`batch_advantages`] of a batch of one group.
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
/// As [`batch_advantages`].
#[must_use]
pub fn advantages(rewards: &[Option<f64>], rule: &AdvantageRule) -> Advantages {
    batch_advantages(&[rewards], rule).remove(0)
}

/// Advantages of each group of a batch by `rule`. Groups meet in [`Scale::BatchStd`] alone.
///
/// A std that overflows gives values that are no numbers, not zeros.
///
/// ```
/// use swerl_grpo::advantage::{batch_advantages, AdvantageRule, Baseline, Scale};
///
/// let rule = AdvantageRule {
///     baseline: Baseline::Mean,
///     scale: Scale::BatchStd { ddof: 0, eps: 0.0 },
///     tolerance: 1e-6,
/// };
/// // The four rewards have mean 3 and std sqrt(5); the groups' means are 5 and 1.
/// let groups = batch_advantages(&[[Some(6.0), Some(4.0)], [Some(2.0), Some(0.0)]], &rule);
/// assert_eq!(groups[0].values, [1.0 / 5.0_f64.sqrt(), -1.0 / 5.0_f64.sqrt()]);
/// assert_eq!(groups[0].values, groups[1].values);
/// ```
///
/// # Panics
/// If a reward is infinite or not a number, or `ddof` is above 1.
#[must_use]
pub fn batch_advantages<R: AsRef<[Option<f64>]>>(
    groups: &[R],
    rule: &AdvantageRule,
) -> Vec<Advantages> {
    let batch: Vec<f64> = groups.iter().flat_map(|group| scored(group.as_ref())).collect();
    assert!(batch.iter().all(|reward| reward.is_finite()), "rewards are finite");
    let of_batch = match rule.scale {
        Scale::BatchStd { ddof, eps } => Some(std(&batch, ddof, eps)),
        Scale::None | Scale::Std { .. } => None,
    };
    groups.iter().map(|group| of_group(group.as_ref(), rule, of_batch)).collect()
}

/// Whether a group can teach anything: at least two members are judged, and their rewards differ
/// by more than `tolerance`.
///
/// The predicate of DAPO's dynamic sampling (arXiv:2503.14476, eq. 11), which samples prompts until
/// enough groups hold it, for rewards that are no mere 0 and 1.
///
/// ```
/// use swerl_grpo::advantage::has_spread;
///
/// assert!(has_spread(&[Some(1.0), None, Some(0.0)], 1e-6));
/// assert!(!has_spread(&[Some(0.3), Some(0.3 + 1e-7)], 1e-6));
/// assert!(!has_spread(&[Some(1.0), None], 1e-6));
/// ```
#[must_use]
pub fn has_spread(rewards: &[Option<f64>], tolerance: f64) -> bool {
    let scored: Vec<f64> = scored(rewards).collect();
    scored.len() >= 2 && range(&scored) > tolerance
}

fn of_group(rewards: &[Option<f64>], rule: &AdvantageRule, of_batch: Option<f64>) -> Advantages {
    let no_spread = !has_spread(rewards, rule.tolerance);
    let scored: Vec<f64> = scored(rewards).collect();
    let mut values = vec![0.0; rewards.len()];
    if !no_spread {
        let mean_of_all = mean(&scored);
        let of_all = of_batch.unwrap_or_else(|| divisor(&scored, rule));
        let mut others = Vec::with_capacity(scored.len());
        let mut index = 0;
        for (value, reward) in values.iter_mut().zip(rewards) {
            let Some(reward) = *reward else { continue };
            *value = match rule.baseline {
                Baseline::Mean => (reward - mean_of_all) / of_all,
                Baseline::LeaveOneOut => {
                    others.clear();
                    others.extend_from_slice(&scored[..index]);
                    others.extend_from_slice(&scored[index + 1..]);
                    let equal = others.len() < 2 || range(&others) <= rule.tolerance;
                    let of_others = match of_batch {
                        Some(divisor) => divisor,
                        None if equal => 1.0,
                        None => divisor(&others, rule),
                    };
                    (reward - mean(&others)) / of_others
                }
            };
            index += 1;
        }
    }
    Advantages { values, scored: scored.len(), no_spread }
}

fn scored(rewards: &[Option<f64>]) -> impl Iterator<Item = f64> {
    rewards.iter().copied().flatten()
}

fn range(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    most - least
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What a difference is divided by where the batch plays no part.
fn divisor(values: &[f64], rule: &AdvantageRule) -> f64 {
    match rule.scale {
        Scale::Std { ddof, eps } => std(values, ddof, eps),
        Scale::None | Scale::BatchStd { .. } => 1.0,
    }
}

/// `std + eps`; not a number where the squares overflow, since dividing by infinity would hide it.
fn std(values: &[f64], ddof: u8, eps: f64) -> f64 {
    assert!(ddof <= 1, "ddof is 0 or 1");
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let std = (squares / (values.len() as f64 - f64::from(ddof))).sqrt() + eps;
    if std.is_finite() { std } else { f64::NAN }
}
