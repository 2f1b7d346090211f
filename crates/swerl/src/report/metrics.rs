//! The metrics files of a run folder as columns of numbers.
//!
//! `X-metrics.jsonl` with `X-timings.jsonl` is the stage `X`; `metrics.jsonl` alone is the stage `run`. Nested
//! objects are joined by dots, `train.` left out: `reward_mean`, `rollouts.exact`, `times.collect`; what
//! stands beside `train` is `run.`: `run.sampled_tokens`. A later line of a step replaces an earlier one. `null`
//! makes a column without a value.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
};

use serde_json::Value;

use super::{
    error::ReportError,
    lines::{Content, Lines},
    notes::Notes,
};

/// Values by step.
pub type Column = BTreeMap<u64, f64>;

/// The metrics of one stage of a run: fine-tuning, GRPO, a control.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stage {
    /// `sft`, `grpo`, `control`, ...
    pub name: String,
    /// Steps that have a line.
    pub steps: BTreeSet<u64>,
    /// Column name -> values. A column that was always `null` is there, and empty.
    pub columns: BTreeMap<String, Column>,
}

impl Stage {
    /// Reads one stage.
    ///
    /// # Errors
    /// When a file cannot be read. Lines that cannot are noted and left out.
    pub(super) fn read(folder: &Path, name: &str, notes: &mut Notes) -> Result<Self, ReportError> {
        let prefix = if name == "run" { String::new() } else { format!("{name}-") };
        let mut stage = Self { name: name.to_owned(), ..Self::default() };
        stage.add(folder, &format!("{prefix}metrics.jsonl"), true, notes)?;
        let timings = format!("{prefix}timings.jsonl");
        if folder.join(&timings).is_file() {
            stage.add(folder, &timings, false, notes)?;
        }
        stage.derive();
        Ok(stage)
    }

    fn add(
        &mut self,
        folder: &Path,
        file: &str,
        counts: bool,
        notes: &mut Notes,
    ) -> Result<(), ReportError> {
        let path = folder.join(file);
        let mut lines = Lines::new(File::open(&path).map_err(ReportError::read(&path))?);
        let mut again = 0_u64;
        while let Some(line) = lines.next().map_err(ReportError::read(&path))? {
            let value = match line.content {
                Content::Torn => {
                    notes.torn(file, line.number);
                    continue;
                }
                Content::TooLong => {
                    notes.unreadable(file, line.number, "the line is too long");
                    continue;
                }
                Content::Whole(bytes) => serde_json::from_slice::<Value>(bytes),
            };
            let value = match value {
                Ok(value) => value,
                Err(error) => {
                    notes.unreadable(file, line.number, &error.to_string());
                    continue;
                }
            };
            let Some(step) = value.get("step").and_then(Value::as_u64) else {
                notes.unreadable(file, line.number, "it has no step");
                continue;
            };
            if counts && !self.steps.insert(step) {
                again += 1;
            }
            // Beside the step's own figures in `train` stand those of the whole run so far.
            match &value {
                Value::Object(fields) if fields.get("train").is_some_and(Value::is_object) => {
                    for (name, value) in fields {
                        let whole = !value.is_object() && name != "step";
                        let joined = if whole { format!("run.{name}") } else { name.clone() };
                        self.flatten(step, &joined, value);
                    }
                }
                value => self.flatten(step, "", value),
            }
        }
        if again > 0 {
            notes.add(format!(
                "{file}: {again} lines of steps that come again; the last one counts"
            ));
        }
        Ok(())
    }

    fn flatten(&mut self, step: u64, prefix: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let joined = match prefix {
                        "" | "train" => name.clone(),
                        _ => format!("{prefix}.{name}"),
                    };
                    self.flatten(step, &joined, value);
                }
            }
            Value::Null => {
                self.columns.entry(prefix.to_owned()).or_default();
            }
            Value::Number(number) => {
                // JSON has no NaN and no infinity; 1e999 does not parse.
                if let Some(number) = number.as_f64().filter(|number| number.is_finite())
                    && !matches!(prefix, "step" | "rollouts.step")
                {
                    self.columns.entry(prefix.to_owned()).or_default().insert(step, number);
                }
            }
            Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
        }
    }

    /// Rates, where the times are known: tokens sampled a second of collecting, tokens trained a second
    /// of gradients.
    fn derive(&mut self) {
        for (rate, tokens, time) in [
            ("rate.sampled", "policy_tokens", "times.collect"),
            ("rate.trained", "trained_tokens", "times.gradient"),
        ] {
            let (Some(tokens), Some(times)) = (self.columns.get(tokens), self.columns.get(time))
            else {
                continue;
            };
            let rates: Column = tokens
                .iter()
                .filter_map(|(step, tokens)| {
                    let seconds = *times.get(step)?;
                    (seconds > 0.0).then(|| (*step, tokens / seconds))
                })
                .collect();
            if !rates.is_empty() {
                self.columns.insert(rate.to_owned(), rates);
            }
        }
    }

    /// First and last value of a column.
    #[must_use]
    pub fn ends(&self, column: &str) -> Option<(f64, f64)> {
        let column = self.columns.get(column)?;
        Some((*column.first_key_value()?.1, *column.last_key_value()?.1))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nested_fields_nulls_and_timings_become_columns() {
        let dir = tempfile::tempdir().unwrap();
        let line = |step: u64| {
            format!(
                r#"{{"step":{step},"policy_tokens":99,"train":{{"step":{step},"kl":null,"policy_tokens":10,"updates":1,"resumed":true,"times":{{"collect":0.0}}}},"rollouts":{{"outcomes":{{"tags":{step}}}}}}}"#
            )
        };
        fs::write(dir.path().join("grpo-metrics.jsonl"), line(1) + "\n" + &line(2) + "\n").unwrap();
        fs::write(
            dir.path().join("grpo-timings.jsonl"),
            "{\"step\":1,\"times\":{\"collect\":2.0}}\n",
        )
        .unwrap();
        let mut notes = Notes::default();
        let stage = Stage::read(dir.path(), "grpo", &mut notes).unwrap();
        assert_eq!(stage.steps, BTreeSet::from([1, 2]));
        assert_eq!(stage.columns["kl"], Column::new());
        assert_eq!(stage.columns["rollouts.outcomes.tags"], Column::from([(1, 1.0), (2, 2.0)]));
        assert_eq!(stage.columns["times.collect"], Column::from([(1, 2.0), (2, 0.0)]));
        assert_eq!(stage.columns["rate.sampled"], Column::from([(1, 5.0)]));
        assert_eq!(stage.columns["run.policy_tokens"], Column::from([(1, 99.0), (2, 99.0)]));
        assert!(!stage.columns.contains_key("step") && !stage.columns.contains_key("resumed"));
        assert!(notes.lines().is_empty());
    }

    #[test]
    fn bad_lines_are_noted_and_the_rest_is_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(
            dir.path().join("metrics.jsonl"),
            "{\"step\":1,\"loss\":3}\nnonsense\n{\"loss\":1}\n{\"step\":1,\"loss\":2}\n{\"step\":2,",
        )
        .unwrap();
        let mut notes = Notes::default();
        let stage = Stage::read(dir.path(), "run", &mut notes).unwrap();
        assert_eq!(stage.columns["loss"], Column::from([(1, 2.0)]));
        let notes = notes.lines().join("\n");
        for part in ["metrics.jsonl:2", "metrics.jsonl:3", "come again", "metrics.jsonl:5", "torn"]
        {
            assert!(notes.contains(part), "{notes:?} lacks {part:?}");
        }
    }
}
