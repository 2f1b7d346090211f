//! What the scores add up to.

use anyhow::{Context, Result};
use serde::Serialize;

use super::row::Scored;
use crate::output::{print_line, say};

/// Counts and sums over the rows.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Rows scored.
    pub(crate) rows: u64,
    /// Rows that could not be read.
    pub(crate) unreadable: u64,
    valid: u64,
    exact: u64,
    reward: f64,
    valid_reward: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    rows: u64,
    unreadable_rows: u64,
    reward_mean: Option<f64>,
    format_valid: Option<f64>,
    exact: Option<f64>,
    valid_similarity: Option<f64>,
}

impl Summary {
    /// Takes one row in.
    pub(crate) fn add(&mut self, scored: &Scored) {
        self.rows += 1;
        self.reward += scored.reward;
        if scored.valid {
            self.valid += 1;
            self.valid_reward += scored.reward;
        }
        self.exact += u64::from(scored.exact);
    }

    fn report(&self) -> Report {
        let over = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        Report {
            rows: self.rows,
            unreadable_rows: self.unreadable,
            reward_mean: over(self.reward, self.rows),
            format_valid: over(self.valid as f64, self.rows),
            exact: over(self.exact as f64, self.rows),
            valid_similarity: over(self.valid_reward, self.valid),
        }
    }

    /// Prints it where the scores are not: to standard output when they went to a file.
    pub(crate) fn print(&self, json: bool, to_stdout: bool) -> Result<()> {
        let report = self.report();
        let text = if json {
            serde_json::to_string(&report).context("writing the summary")?
        } else {
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.4}"));
            let share =
                |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{:.1}%", v * 100.0));
            format!(
                "{} rows: mean reward {}, format valid {}, exact {}, mean similarity of valid outputs {}",
                report.rows,
                number(report.reward_mean),
                share(report.format_valid),
                share(report.exact),
                number(report.valid_similarity),
            )
        };
        if to_stdout {
            print_line(&text)
        } else {
            say(&text);
            Ok(())
        }
    }
}
