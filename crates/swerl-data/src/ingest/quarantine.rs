//! Notes on inputs that gave nothing: `quarantine/NAME.json`, one object with `source` and `reason`.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::Quarantined;
use super::part::Source;
use crate::error::DataError;
use crate::stage::Stage;

fn place(source: &Source, stage: &Stage) -> PathBuf {
    stage.folder().join("quarantine").join(format!("{}.json", source.safe_name()))
}

/// Writes why.
pub(super) fn note(source: &Source, reason: &str, stage: &Stage) -> Result<(), DataError> {
    let note = Quarantined { source: source.name.clone(), reason: reason.to_owned() };
    // Two strings always become JSON.
    let text = serde_json::to_string(&note).unwrap_or_default();
    stage.write(&place(source, stage), &format!("{text}\n"))
}

/// Removes an earlier note.
pub(super) fn clear(source: &Source, stage: &Stage) -> Result<(), DataError> {
    let path = place(source, stage);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(DataError::Write { path, source })
        }
        _ => Ok(()),
    }
}
