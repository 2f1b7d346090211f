//! The score of one output, and the mean over files: rules R8 to R10.
//!
//! ```text
//! reward = mean over p in P | O of s(p)
//! s(p)   = ratio(P[p], O[p]), 0 where one side lacks p
//! ```
//! `P` and `O` are the predicted and the oracle patches by path. Both empty: 1. Only `P`
//! empty: 0, which the mean gives by itself. Summed in the order of the paths.

use std::collections::BTreeMap;
use std::fmt;

use crate::explain::NearMiss;
use crate::limits::Limit;
use crate::outcome::Outcome;
use crate::similarity::Matcher;

/// The reward of an output that breaks a rule of the format or whose edits do not apply.
pub const FORMAT_PENALTY: f64 = -1.0;

/// A reward with its reasons.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Score {
    /// -1, or a similarity in `[0, 1]`. Dimensionless, never NaN.
    pub reward: f64,
    /// Scored, or the rule that failed.
    pub outcome: Outcome,
    /// Similarity in `[0, 1]` of every path that either side changes; empty unless scored.
    pub similarities: BTreeMap<String, f64>,
    /// The trimmed thought, where the output has one (search/replace answers only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// The count of edits that match the grammar (search/replace answers only).
    #[serde(default)]
    pub edits: usize,
    /// For [`Outcome::SearchNotFound`]: the lines of the file most like the search text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_miss: Option<NearMiss>,
}

impl Score {
    pub(crate) fn failed(outcome: Outcome) -> Self {
        Self {
            reward: FORMAT_PENALTY,
            outcome,
            similarities: BTreeMap::new(),
            thought: None,
            edits: 0,
            near_miss: None,
        }
    }

    /// A prediction of an entry without format penalty that would cost too much.
    pub(crate) fn limited(limit: Limit) -> Self {
        Self { reward: 0.0, ..Self::failed(Outcome::LimitPassed { limit }) }
    }

    pub(crate) fn of_patches(
        matcher: &mut Matcher,
        predicted: &BTreeMap<String, String>,
        oracle: &BTreeMap<String, String>,
    ) -> Self {
        let mut similarities = BTreeMap::new();
        for (path, patch) in predicted {
            let similarity = oracle.get(path).map_or(0.0, |oracle| matcher.ratio(patch, oracle));
            similarities.insert(path.clone(), similarity);
        }
        for path in oracle.keys().filter(|path| !predicted.contains_key(*path)) {
            similarities.insert(path.clone(), 0.0);
        }
        let reward = if similarities.is_empty() {
            1.0
        } else {
            similarities.values().sum::<f64>() / similarities.len() as f64
        };
        Self {
            reward,
            outcome: Outcome::Scored,
            similarities,
            thought: None,
            edits: 0,
            near_miss: None,
        }
    }

    /// Whether the output was scored: it keeps the format, its edits apply, it passes no limit.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.outcome == Outcome::Scored
    }

    /// Whether the predicted patches equal the oracle's, all of them.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        // A ratio is 1 only for equal texts: 2M = |a| + |b|.
        self.is_valid() && self.similarities.values().all(|&similarity| similarity == 1.0)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reward {:.4}: {}", self.reward, self.outcome)?;
        for (path, similarity) in &self.similarities {
            write!(f, "\n  {similarity:.4}  {path:?}")?;
        }
        if let Some(near_miss) = &self.near_miss {
            write!(f, "\n{near_miss}")?;
        }
        Ok(())
    }
}
