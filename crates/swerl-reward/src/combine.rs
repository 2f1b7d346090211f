//! Combining rewards: weighted sums, gates, and the penalty for overlong outputs.
//!
//! `None` is an output that could not be judged (a sandbox died, a deadline passed). It is not
//! a bad output: it must be masked from the loss, so it passes through every combination.

/// `sum of weight * reward`; `None` if any part could not be judged.
///
/// Weights are dimensionless and need not sum to 1. No parts give 0.
///
/// # Panics
/// If a weight or a reward is NaN or infinite: it would go on into every advantage of its group.
///
/// ```
/// use swerl_reward::combine::weighted_sum;
/// assert_eq!(weighted_sum(&[(1.0, Some(0.5)), (0.5, Some(-1.0))]), Some(0.0));
/// assert_eq!(weighted_sum(&[(1.0, Some(0.5)), (0.5, None)]), None);
/// ```
#[must_use]
pub fn weighted_sum(parts: &[(f64, Option<f64>)]) -> Option<f64> {
    let mut sum = Some(0.0);
    for &(weight, reward) in parts {
        assert!(weight.is_finite(), "a weight is {weight}");
        assert!(reward.is_none_or(f64::is_finite), "a reward is {reward:?}");
        sum = sum.zip(reward).map(|(sum, reward)| sum + weight * reward);
    }
    sum
}

/// The second reward where the first is at least `threshold`, else the first.
///
/// `inner` is called only where the gate opens, so a costly judge (tests in a sandbox) runs only for
/// outputs that are worth it. `None` if the gate or the reward behind it could not be judged.
///
/// # Panics
/// If `outer` or `threshold` is NaN.
///
/// ```
/// use swerl_reward::combine::gate;
/// assert_eq!(gate(Some(-1.0), 0.0, || Some(1.0)), Some(-1.0));
/// assert_eq!(gate(Some(0.2), 0.0, || Some(1.0)), Some(1.0));
/// ```
#[must_use]
pub fn gate(
    outer: Option<f64>,
    threshold: f64,
    inner: impl FnOnce() -> Option<f64>,
) -> Option<f64> {
    assert!(!threshold.is_nan(), "the threshold is NaN");
    assert!(!outer.is_some_and(f64::is_nan), "the reward at the gate is NaN");
    match outer {
        Some(reward) if reward >= threshold => inner(),
        other => other,
    }
}

/// DAPO's soft penalty for overlong outputs, in `[-1, 0]`, to be added to a reward.
///
/// ```text
/// 0                                length <= max - buffer
/// (max - buffer - length) / buffer  in between
/// -1                               length > max
/// ```
/// `length`, `max` (`L_max`) and `buffer` (`L_cache`) are tokens of the output. Source: DAPO, arXiv:2503.14476, eq. 13.
///
/// # Panics
/// If `buffer` is greater than `max`.
///
/// ```
/// use swerl_reward::combine::soft_overlong;
/// assert_eq!(soft_overlong(70, 100, 20), 0.0);
/// assert_eq!(soft_overlong(90, 100, 20), -0.5);
/// assert_eq!(soft_overlong(101, 100, 20), -1.0);
/// ```
#[must_use]
pub fn soft_overlong(length: usize, max: usize, buffer: usize) -> f64 {
    assert!(buffer <= max, "the buffer of {buffer} tokens is longer than the most of {max} tokens");
    let free = max - buffer;
    if length <= free {
        0.0
    } else if length > max {
        -1.0
    } else {
        -((length - free) as f64) / buffer as f64
    }
}
