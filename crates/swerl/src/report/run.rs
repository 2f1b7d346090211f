//! A run folder, read: metrics, evaluations, configuration, summary. The trace is read apart.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    config::{self, Config},
    error::ReportError,
    evaluation::Evaluation,
    metrics::Stage,
    notes::Notes,
};

/// Stages, what matters most first, and evaluations in the order in which a run makes them; others follow by
/// name.
const ORDER: [&str; 7] = ["grpo", "run", "base", "sft", "before", "after", "control"];

/// What a run folder holds, the trace apart.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder's name, without the way to it.
    pub name: String,
    /// The stages with metrics, in order.
    pub stages: Vec<Stage>,
    /// Held-out evaluations, in order.
    pub evaluations: Vec<Evaluation>,
    /// Configurations.
    pub configs: Vec<Config>,
    /// `summary.json`, as names and values: the run is finished.
    pub summary: Option<Vec<(String, String)>>,
    /// Mean validation reward of each round of the warm start, from `sft.json`.
    pub warm_start: Vec<f64>,
    /// The trace, where there is one.
    pub trace: Option<PathBuf>,
    /// What was left out.
    pub notes: Notes,
}

impl Run {
    /// Reads a run folder: of a run that goes on, has crashed, or is done.
    ///
    /// # Errors
    /// When there is no such folder, it holds nothing of a run, or a file cannot be read. Lines that
    /// cannot be read are noted and left out.
    pub fn read(folder: &Path) -> Result<Self, ReportError> {
        if !folder.is_dir() {
            return Err(ReportError::NoFolder { path: folder.to_path_buf() });
        }
        let names = names(folder)?;
        let mut notes = Notes::default();
        let mut stages = Vec::new();
        let mut evaluations = Vec::new();
        for name in ordered(&names, |name| match name.strip_suffix("metrics.jsonl")? {
            "" => Some("run"),
            prefix => prefix.strip_suffix('-'),
        }) {
            stages.push(Stage::read(folder, name, &mut notes)?);
        }
        for name in ordered(&names, |name| name.strip_prefix("evaluation-")?.strip_suffix(".json"))
        {
            evaluations.extend(Evaluation::read(folder, name, &mut notes)?);
        }
        let trace = folder.join("rollouts.jsonl");
        let trace = trace.is_file().then_some(trace);
        if stages.is_empty() && evaluations.is_empty() && trace.is_none() {
            return Err(ReportError::NoRun { path: folder.to_path_buf() });
        }
        let summary = object(folder, "summary.json", &mut notes)?;
        let warm_start = object(folder, "sft.json", &mut notes)?
            .and_then(|value| Some(value.get("rewards")?.as_array()?.clone()))
            .map(|rewards| rewards.iter().filter_map(Value::as_f64).collect())
            .unwrap_or_default();
        Ok(Self {
            name: name(folder),
            stages,
            evaluations,
            configs: config::read(folder, &mut notes)?,
            summary: summary.map(|value| config::rows(&value)),
            warm_start,
            trace,
            notes,
        })
    }

    /// The evaluation called `name`.
    #[must_use]
    pub fn evaluation(&self, name: &str) -> Option<&Evaluation> {
        self.evaluations.iter().find(|evaluation| evaluation.name == name)
    }
}

/// The folder's own name; `.` is looked up.
fn name(folder: &Path) -> String {
    let whole = folder.canonicalize();
    let folder = whole.as_deref().unwrap_or(folder);
    folder.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
}

/// Names in a folder that are UTF-8, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, ReportError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(ReportError::read(folder))? {
        let entry = entry.map_err(ReportError::read(folder))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn ordered<'a>(names: &'a [String], part: impl Fn(&'a str) -> Option<&'a str>) -> Vec<&'a str> {
    let mut parts: Vec<&str> = names.iter().filter_map(|name| part(name)).collect();
    parts.sort_by_key(|part| rank(part));
    parts
}

/// Sorts names of stages and evaluations.
pub(super) fn rank(name: &str) -> (usize, &str) {
    (ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len()), name)
}

fn object(folder: &Path, file: &str, notes: &mut Notes) -> Result<Option<Value>, ReportError> {
    let path = folder.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(&path).map_err(ReportError::read(&path))?;
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            notes.add(format!("{file}: left out, it cannot be read: {error}"));
            Ok(None)
        }
    }
}
