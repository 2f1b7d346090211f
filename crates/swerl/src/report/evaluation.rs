//! Held-out evaluations of a run: `evaluation-NAME.json`.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{error::ReportError, notes::Notes};

/// Fewest pairs of an interval.
const FEWEST: usize = 10;

/// One evaluation, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// `base`, `before`, `after`, `control`, ...
    pub name: String,
    /// Optimizer steps behind the weights.
    pub weights_version: u64,
    /// Mean reward.
    pub reward: f64,
    /// Share of outputs whose format is valid.
    pub valid: f64,
    /// Share of outputs equal to the oracle.
    pub exact: f64,
    /// Mean reward of the valid outputs; `None` when there is none.
    pub valid_similarity: Option<f64>,
    /// Mean tokens of an output.
    pub tokens: f64,
    /// Share of outputs cut by the length limit.
    pub truncated: f64,
    /// Seed and reward of each output.
    pub rewards: Vec<(String, f64)>,
}

/// A later evaluation less an earlier one, seed by seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean difference of the rewards.
    pub mean: f64,
    /// Half the width of its 95% interval (Student's t).
    pub half_width: f64,
    /// Seeds with a higher reward than before.
    pub better: usize,
    /// Seeds with a lower one.
    pub worse: usize,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    weights_version: u64,
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    reward: f64,
    valid: bool,
    exact: bool,
    #[serde(default)]
    finish: String,
    #[serde(default)]
    tokens: u64,
}

impl Evaluation {
    /// Reads `evaluation-{name}.json`; one that cannot be read, or has no results, is noted.
    pub(super) fn read(
        folder: &Path,
        name: &str,
        notes: &mut Notes,
    ) -> Result<Option<Self>, ReportError> {
        let file = format!("evaluation-{name}.json");
        let path = folder.join(&file);
        let bytes = fs::read(&path).map_err(ReportError::read(&path))?;
        let File { weights_version, results } = match serde_json::from_slice(&bytes) {
            Ok(evaluation) => evaluation,
            Err(error) => {
                notes.add(format!("{file}: left out, it cannot be read: {error}"));
                return Ok(None);
            }
        };
        if results.is_empty() {
            notes.add(format!("{file}: left out, it has no results"));
            return Ok(None);
        }
        let count = results.len() as f64;
        let share =
            |test: fn(&Row) -> bool| results.iter().filter(|r| test(r)).count() as f64 / count;
        let valid: Vec<f64> = results.iter().filter(|r| r.valid).map(|r| r.reward).collect();
        Ok(Some(Self {
            name: name.to_owned(),
            weights_version,
            reward: results.iter().map(|r| r.reward).sum::<f64>() / count,
            valid: share(|r| r.valid),
            exact: share(|r| r.exact),
            valid_similarity: (!valid.is_empty())
                .then(|| valid.iter().sum::<f64>() / valid.len() as f64),
            tokens: results.iter().map(|r| r.tokens as f64).sum::<f64>() / count,
            truncated: share(|r| r.finish == "length"),
            rewards: results.into_iter().map(|r| (r.id, r.reward)).collect(),
        }))
    }

    /// This evaluation less `earlier`; `None` unless both have the same seeds in the same order, at
    /// least ten.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Difference> {
        let same = self.rewards.len() == earlier.rewards.len()
            && self.rewards.iter().zip(&earlier.rewards).all(|(a, b)| a.0 == b.0);
        if !same || self.rewards.len() < FEWEST {
            return None;
        }
        let differences: Vec<f64> =
            self.rewards.iter().zip(&earlier.rewards).map(|(a, b)| a.1 - b.1).collect();
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Difference {
            mean,
            half_width: student(count - 1.0) * (variance / count).sqrt(),
            better: differences.iter().filter(|d| **d > 0.0).count(),
            worse: differences.iter().filter(|d| **d < 0.0).count(),
        })
    }
}

/// The 97.5% point of Student's t by its expansion around the normal one's; within 3e-4 from 9 degrees of
/// freedom on. Source: Abramowitz and Stegun, 26.7.5.
fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_963_984_540_054;
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + g1 / freedom + g2 / freedom.powi(2) + g3 / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(name: &str, rewards: &[f64]) -> Option<Evaluation> {
        let dir = tempfile::tempdir().unwrap();
        let rows: Vec<String> = rewards
            .iter()
            .enumerate()
            .map(|(i, r)| {
                format!(
                    r#"{{"id":"{i}","reward":{r:?},"valid":{},"exact":{},"finish":"length","tokens":4}}"#,
                    *r >= 0.0,
                    *r == 1.0
                )
            })
            .collect();
        let text = format!(r#"{{"weights_version":3,"results":[{}]}}"#, rows.join(","));
        fs::write(dir.path().join(format!("evaluation-{name}.json")), text).unwrap();
        Evaluation::read(dir.path(), name, &mut Notes::default()).unwrap()
    }

    #[test]
    fn shares_and_means() {
        let e = evaluation("after", &[-1.0, 0.5, 1.0, -1.0]).unwrap();
        assert_eq!((e.reward, e.valid, e.exact), (-0.125, 0.5, 0.25));
        assert_eq!((e.valid_similarity, e.tokens, e.truncated), (Some(0.75), 4.0, 1.0));
        assert_eq!(evaluation("base", &[-1.0]).unwrap().valid_similarity, None);
        assert_eq!(evaluation("base", &[]), None);
    }

    #[test]
    fn differences_are_paired() {
        let before =
            evaluation("before", &[0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let after =
            evaluation("after", &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let d = after.since(&before).unwrap();
        assert_eq!((d.mean, d.better, d.worse), (0.05, 1, 1));
        // Differences 1, -0.5 and eight zeros: standard deviation 0.368932 (n - 1), standard error
        // 0.116667, t of 9 degrees of freedom 2.262157.
        assert!((d.half_width - 0.263_918).abs() < 1e-4, "{d:?}");
        assert_eq!(after.since(&evaluation("x", &[0.0]).unwrap()), None);
    }

    #[test]
    fn the_t_of_tables() {
        for (freedom, t) in [(9.0, 2.262_157), (30.0, 2.042_272), (499.0, 1.964_729)] {
            assert!((student(freedom) - t).abs() < 3e-4, "{freedom}: {}", student(freedom));
        }
    }
}
