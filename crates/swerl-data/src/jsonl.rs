//! Seeds on disk: one JSON object a line, UTF-8, LF.
//!
//! A file is written aside in the same folder, synced, then renamed: whoever looks sees the old
//! file or the whole new one. Reading names the file and the line of the first fault, and
//! refuses a file without seeds.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::DataError;
use crate::seed::SeedExample;

/// Removes the file aside unless it was renamed into place.
struct Aside {
    path: PathBuf,
    done: bool,
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.done {
            // Nothing can be done about a failure here; the error that led here is reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Reads a seeds file and checks every seed.
///
/// # Errors
/// If the file cannot be read, a line is not a seed or breaks an invariant, or there is no seed.
pub fn read_seeds(path: impl AsRef<Path>) -> Result<Vec<SeedExample>, DataError> {
    let path = path.as_ref();
    let read_error = |source| DataError::Read { path: path.to_path_buf(), source };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(read_error)?);
    let mut seeds = Vec::new();
    let mut buffer = Vec::new();
    let mut line = 0;
    loop {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer).map_err(read_error)? == 0 {
            break;
        }
        line += 1;
        if buffer.trim_ascii().is_empty() {
            continue;
        }
        let seed: SeedExample = serde_json::from_slice(&buffer)
            .map_err(|source| DataError::SeedLine { path: path.to_path_buf(), line, source })?;
        seed.validate().map_err(|source| DataError::InvalidSeed {
            path: path.to_path_buf(),
            line,
            source,
        })?;
        seeds.push(seed);
    }
    if seeds.is_empty() {
        return Err(DataError::NoSeeds { path: path.to_path_buf() });
    }
    Ok(seeds)
}

/// Writes seeds in the order given; an existing file is replaced as a whole.
///
/// # Errors
/// If a seed breaks an invariant (the line is its place in `seeds`) or the file cannot be
/// written. An existing file at `path` is then untouched and no file aside is left.
pub fn write_seeds(path: impl AsRef<Path>, seeds: &[SeedExample]) -> Result<(), DataError> {
    let path = path.as_ref();
    for (seed, line) in seeds.iter().zip(1..) {
        seed.validate().map_err(|source| DataError::InvalidSeed {
            path: path.to_path_buf(),
            line,
            source,
        })?;
    }
    write_aside(path, |out| {
        for seed in seeds {
            serde_json::to_writer(&mut *out, seed)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
    .map_err(|source| DataError::Write { path: path.to_path_buf(), source })
}

/// Writes a whole text; an existing file is replaced as a whole.
pub(crate) fn write_text(path: impl AsRef<Path>, text: &str) -> Result<(), DataError> {
    let path = path.as_ref();
    write_aside(path, |out| out.write_all(text.as_bytes()))
        .map_err(|source| DataError::Write { path: path.to_path_buf(), source })
}

fn write_aside(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut aside_name = name.to_owned();
    aside_name.push(".tmp");
    let mut aside = Aside { path: path.with_file_name(aside_name), done: false };
    let file = File::create(&aside.path)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&aside.path, path)?;
    aside.done = true;
    // The rename itself must survive a power cut; not every file system can sync a folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
    Ok(())
}
