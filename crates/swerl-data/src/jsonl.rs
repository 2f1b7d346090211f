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
    write_aside(path, |out| seeds.iter().try_for_each(|seed| write_seed(out, seed)))
        .map_err(|source| DataError::Write { path: path.to_path_buf(), source })
}

/// Writes seeds one by one; the file appears when all are written.
#[cfg(feature = "ingest")]
pub(crate) struct SeedWriter {
    path: PathBuf,
    aside: Aside,
    out: BufWriter<File>,
    line: u64,
}

#[cfg(feature = "ingest")]
impl SeedWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, DataError> {
        let (aside, out) = create_aside(path)
            .map_err(|source| DataError::Write { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), aside, out, line: 0 })
    }

    /// Adds a seed.
    pub(crate) fn write(&mut self, seed: &SeedExample) -> Result<(), DataError> {
        self.line += 1;
        seed.validate().map_err(|source| DataError::InvalidSeed {
            path: self.path.clone(),
            line: self.line,
            source,
        })?;
        write_seed(&mut self.out, seed)
            .map_err(|source| DataError::Write { path: self.path.clone(), source })
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        let Self { path, aside, out, .. } = self;
        finish_aside(aside, out, &path).map_err(|source| DataError::Write { path, source })
    }
}

fn write_seed(out: &mut BufWriter<File>, seed: &SeedExample) -> io::Result<()> {
    serde_json::to_writer(&mut *out, seed)?;
    out.write_all(b"\n")
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
    let (aside, mut out) = create_aside(path)?;
    fill(&mut out)?;
    finish_aside(aside, out, path)
}

fn create_aside(path: &Path) -> io::Result<(Aside, BufWriter<File>)> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut aside_name = name.to_owned();
    aside_name.push(".tmp");
    let aside = Aside { path: path.with_file_name(aside_name), done: false };
    let file = File::create(&aside.path)?;
    Ok((aside, BufWriter::with_capacity(1 << 16, file)))
}

fn finish_aside(mut aside: Aside, out: BufWriter<File>, path: &Path) -> io::Result<()> {
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
