//! Soft overlong punishment: a reward that falls before the length limit is reached.
//!
//! ```text
//! 0                                        len <= longest - cache
//! ((longest - cache) - len) / cache        longest - cache < len <= longest
//! -1                                       longest < len
//! ```
//! Added to the reward by whoever scores, before advantages are taken. Source: DAPO
//! (arXiv:2503.14476, eq. 13). It knows lengths alone: whether a text was cut is the sampler's to
//! say ([`crate::Finish`]).

use serde::{Deserialize, Serialize};

/// Where the punishment starts and where it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlong {
    /// The longest completion allowed, in tokens. DAPO: 20,480.
    pub longest: usize,
    /// Number of tokens below it over which the punishment grows from 0 to -1; above 0, at most
    /// `longest`. DAPO: 4,096.
    pub cache: usize,
}

/// What is added to the reward of a completion of `tokens` policy tokens: from -1 to 0.
///
/// ```
/// use swerl_grpo::overlong::{Overlong, overlong_penalty};
///
/// let rule = Overlong { longest: 100, cache: 20 };
/// let penalties = [0, 80, 85, 100, 101].map(|tokens| overlong_penalty(tokens, &rule));
/// assert_eq!(penalties, [0.0, 0.0, -0.25, -1.0, -1.0]);
/// ```
///
/// # Panics
/// If `cache` is 0 or above `longest`.
#[must_use]
pub fn overlong_penalty(tokens: usize, rule: &Overlong) -> f64 {
    assert!((1..=rule.longest).contains(&rule.cache), "cache is from 1 to longest");
    let over = tokens.saturating_sub(rule.longest - rule.cache);
    -((over as f64 / rule.cache as f64).min(1.0))
}
