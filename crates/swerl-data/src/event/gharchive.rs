//! Hourly `*.json.gz` files, read line by line: memory is one line, whatever the file's size.
//!
//! A file may be several gzip members in a row. A truncated or damaged member is an error that
//! names the file; so is a line that is no event.

use std::fs;
use std::path::{Path, PathBuf};

use super::Event;
use super::lines::Lines;
use crate::error::DataError;

/// The `*.json.gz` files of a folder and of the folders in it, sorted by path. Symbolic links to
/// folders are not followed.
///
/// # Errors
/// If a folder cannot be read or there is no such file.
pub fn event_files(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        let error = |source| DataError::Read { path: next.clone(), source };
        for entry in fs::read_dir(&next).map_err(error)? {
            let entry = entry.map_err(error)?;
            let kind = entry.file_type().map_err(error)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if entry.file_name().to_string_lossy().ends_with(".json.gz") {
                files.push(entry.path());
            }
        }
    }
    if files.is_empty() {
        return Err(DataError::NoEvents { path: folder.to_path_buf() });
    }
    // Byte by byte, so that the order is that of the names as texts.
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(files)
}

/// Calls `each` for every event of a file, in order; returns how many lines there were.
///
/// # Errors
/// If the file cannot be opened, its gzip stream is truncated or damaged, or a line is no event.
pub fn read_events(path: &Path, mut each: impl FnMut(Event)) -> Result<u64, DataError> {
    let mut lines =
        Lines::open(path).map_err(|source| DataError::Read { path: path.to_path_buf(), source })?;
    loop {
        let read = lines.count;
        let line = match lines.next() {
            Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
            Ok(Some(line)) => line,
            Ok(None) => return Ok(read),
            Err(source) => {
                return Err(DataError::Gzip { path: path.to_path_buf(), lines: read, source });
            }
        };
        let event = Event::from_json(line).map_err(|source| DataError::Event {
            path: path.to_path_buf(),
            line: read + 1,
            source,
        })?;
        each(event);
    }
}
