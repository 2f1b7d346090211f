//! The folder of a stage: locked by one process, with a place for unfinished files.
//!
//! A file of a stage is written in `.partial`, synced and renamed to its place, so that what is in
//! place is whole and a killed run leaves nothing else behind than `.partial`, which the next one
//! clears.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::DataError;

const PARTIAL: &str = ".partial";
const LOCK: &str = ".lock";

/// How often, and after how long, a folder in use is looked at again.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// A stage's folder, locked until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    lock: File,
}

impl Stage {
    /// Makes the folder where it is missing, locks it and clears what a killed run left.
    pub(crate) fn open(folder: &Path) -> Result<Self, DataError> {
        let error = |source| DataError::Write { path: folder.to_path_buf(), source };
        fs::create_dir_all(folder).map_err(error)?;
        let lock = File::create(folder.join(LOCK)).map_err(error)?;
        let mut tries = 0;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                // A child of a killed process holds its lock until it has become another program.
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tries += 1;
                    thread::sleep(LOCK_WAIT);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(DataError::Busy { path: folder.to_path_buf() });
                }
                Err(TryLockError::Error(source)) => return Err(error(source)),
            }
        }
        let partial = folder.join(PARTIAL);
        match fs::remove_dir_all(&partial) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(error(source)),
            _ => {}
        }
        fs::create_dir(&partial).map_err(error)?;
        Ok(Self { folder: folder.to_path_buf(), lock })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the unfinished file `name` is written.
    pub(crate) fn partial(&self, name: &str) -> PathBuf {
        self.folder.join(PARTIAL).join(name)
    }

    /// Gives a written and synced file its place below the folder.
    pub(crate) fn place(&self, unfinished: &Path, place: &Path) -> Result<(), DataError> {
        let error = |source| DataError::Write { path: place.to_path_buf(), source };
        let parent = place.parent().unwrap_or(&self.folder);
        if !parent.is_dir() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        fs::rename(unfinished, place).map_err(error)?;
        // The rename itself must survive a power cut; not every file system can sync a folder.
        if let Ok(parent) = File::open(parent) {
            let _ = parent.sync_all();
        }
        Ok(())
    }

    /// Writes a small text to its place.
    pub(crate) fn write(&self, place: &Path, text: &str) -> Result<(), DataError> {
        let error = |source| DataError::Write { path: place.to_path_buf(), source };
        let name = place.file_name().unwrap_or(place.as_os_str()).to_string_lossy();
        let unfinished = self.partial(&name);
        fs::write(&unfinished, text)
            .and_then(|()| File::open(&unfinished)?.sync_all())
            .map_err(error)?;
        self.place(&unfinished, place)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next run clears it.
        let _ = fs::remove_dir_all(self.folder.join(PARTIAL));
        // Said, not left to closing: a child that is just being started has a copy of the handle.
        let _ = self.lock.unlock();
    }
}

/// A name for a path that is safe in every file system and URL: other bytes than ASCII letters,
/// digits, `.`, `_` and `-` become `+` and two hexadecimal digits. Different paths get different names.
pub(crate) fn safe_name(path: &Path) -> String {
    use std::fmt::Write;
    let mut name = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            name.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(name, "+{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Stage, safe_name};
    use crate::error::DataError;

    #[test]
    fn names_are_safe_and_different() {
        let name = |path: &str| safe_name(Path::new(path));
        assert_eq!(name("2020-01-01-3.json.gz"), "2020-01-01-3.json.gz");
        assert_eq!(name("a/b +2F%é"), "a+2Fb+20+2B2F+25+C3+A9");
        assert_ne!(name("a/b"), name("a+2Fb"));
    }

    #[test]
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = Stage::open(dir.path()).expect("the first gets it");
        let second = Stage::open(dir.path());
        assert!(matches!(second, Err(DataError::Busy { .. })), "{second:?}");
        std::fs::write(first.partial("torn"), "x").expect("written");
        drop(first);
        let third = Stage::open(dir.path()).expect("free again");
        assert!(!third.partial("torn").exists());
    }
}
