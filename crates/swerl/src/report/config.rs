//! The configurations that a run folder holds, as names and values.
//!
//! Looked at: `config.toml` and `config.json` of the folder; else, for each kind of checkpoint, `config` in the
//! `state.json` of the newest one (`FOLDER/step-NNNNNNNN/`).

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    error::ReportError,
    notes::Notes,
    run::{names, rank},
};

/// One configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it stands, relative to the run folder.
    pub source: String,
    /// Dotted name and value, in the file's order.
    pub rows: Vec<(String, String)>,
    /// The whole text, where the file is no JSON.
    pub text: Option<String>,
}

/// Reads all that there are.
pub(super) fn read(folder: &Path, notes: &mut Notes) -> Result<Vec<Config>, ReportError> {
    let mut configs = Vec::new();
    let toml = folder.join("config.toml");
    if toml.is_file() {
        let bytes = fs::read(&toml).map_err(ReportError::read(&toml))?;
        configs.push(Config {
            source: "config.toml".into(),
            rows: Vec::new(),
            text: Some(String::from_utf8_lossy(&bytes).into_owned()),
        });
    }
    if folder.join("config.json").is_file() {
        configs.extend(json(folder, "config.json", None, notes)?);
    }
    if !configs.is_empty() {
        return Ok(configs);
    }
    let mut stages = names(folder)?;
    stages.sort_by(|a, b| rank(a).cmp(&rank(b)));
    for stage in stages {
        let path = folder.join(&stage);
        if !path.is_dir() || stage.starts_with('.') {
            continue;
        }
        let newest = names(&path)?.into_iter().rfind(|name| {
            name.starts_with("step-") && path.join(name).join("state.json").is_file()
        });
        if let Some(newest) = newest {
            configs.extend(json(
                folder,
                &format!("{stage}/{newest}/state.json"),
                Some("config"),
                notes,
            )?);
        }
    }
    Ok(configs)
}

fn json(
    folder: &Path,
    source: &str,
    field: Option<&str>,
    notes: &mut Notes,
) -> Result<Option<Config>, ReportError> {
    let path = folder.join(source);
    let bytes = fs::read(&path).map_err(ReportError::read(&path))?;
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            notes.add(format!("{source}: left out, it cannot be read: {error}"));
            return Ok(None);
        }
    };
    let value = match field {
        None => &value,
        Some(field) => match value.get(field) {
            Some(value) => value,
            None => return Ok(None),
        },
    };
    Ok(Some(Config { source: source.to_owned(), rows: rows(value), text: None }))
}

/// Leaves of a JSON value with their dotted names.
pub(super) fn rows(value: &Value) -> Vec<(String, String)> {
    fn walk(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (field, value) in fields {
                    let dotted =
                        if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                    walk(&dotted, value, out);
                }
            }
            Value::Null => out.push((name.to_owned(), "none".into())),
            Value::String(text) => out.push((name.to_owned(), text.clone())),
            value => out.push((name.to_owned(), value.to_string())),
        }
    }
    let mut out = Vec::new();
    walk("", value, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_have_dotted_names() {
        let value = serde_json::json!({"a": {"b": 1, "c": null}, "d": ["x"], "e": {}});
        let rows = rows(&value);
        let expected = [("a.b", "1"), ("a.c", "none"), ("d", "[\"x\"]"), ("e", "{}")];
        assert_eq!(rows, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn the_newest_whole_checkpoint_counts() {
        let dir = tempfile::tempdir().unwrap();
        for (step, seed) in [("step-00000001", 1), ("step-00000002", 2)] {
            let folder = dir.path().join("grpo").join(step);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("state.json"), format!("{{\"config\":{{\"seed\":{seed}}}}}"))
                .unwrap();
        }
        fs::create_dir_all(dir.path().join("grpo/step-00000003")).unwrap();
        let configs = read(dir.path(), &mut Notes::default()).unwrap();
        assert_eq!(configs.len(), 1);
        assert_eq!(configs[0].source, "grpo/step-00000002/state.json");
        assert_eq!(configs[0].rows, [("seed".to_owned(), "2".to_owned())]);
    }
}
