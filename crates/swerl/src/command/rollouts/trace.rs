//! Reading traces (docs/data-format.md, "Rollout trace"), record by record, without a tensor library.
//!
//! Fields that are not needed are not read. A file name that ends in `.gz` is decompressed; a trace that
//! was cut into parts (`NAME.0001.jsonl.gz`, ...) is read from its first part on.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use swerl::reward::Score;

/// The version read here.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // Completions are most of a trace, and one is held at a time.
pub(super) enum Record {
    /// A prompt of a step.
    Prompt(Prompt),
    /// A completion of the prompt before it.
    Completion(Completion),
}

/// A prompt of a step.
#[derive(Debug, Deserialize)]
pub(super) struct Prompt {
    pub(super) step: u64,
    pub(super) id: String,
    pub(super) text: String,
    pub(super) ids: Vec<u32>,
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) skipped: Vec<String>,
}

/// A completion of a prompt.
#[derive(Debug, Deserialize)]
pub(super) struct Completion {
    pub(super) step: u64,
    pub(super) prompt: u64,
    pub(super) sample: u64,
    pub(super) ids: Vec<u32>,
    pub(super) log_probs: Vec<f32>,
    pub(super) text: String,
    pub(super) finish: String,
    pub(super) weights_version: u64,
    pub(super) reward: Option<f64>,
    pub(super) score: Score,
}

/// Records of all parts of a trace, in order.
pub(super) struct Trace {
    files: VecDeque<PathBuf>,
    current: Option<(PathBuf, usize, Box<dyn BufRead>)>,
}

impl Trace {
    /// Opens the trace at `path`.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut files = parts(path)?;
        if path.exists() || files.is_empty() {
            files.push(path.to_owned());
        }
        let mut trace = Self { files: files.into(), current: None };
        trace.advance()?;
        Ok(trace)
    }

    /// Opens the next file; `false` when there is none.
    fn advance(&mut self) -> Result<bool> {
        let Some(path) = self.files.pop_front() else {
            self.current = None;
            return Ok(false);
        };
        let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let reader: Box<dyn BufRead> = if path.extension().is_some_and(|end| end == "gz") {
            Box::new(BufReader::new(GzDecoder::new(file)))
        } else {
            Box::new(BufReader::new(file))
        };
        self.current = Some((path, 0, reader));
        Ok(true)
    }

    fn read(&mut self) -> Result<Option<Record>> {
        let mut line = String::new();
        loop {
            let Some((path, number, reader)) = &mut self.current else { return Ok(None) };
            line.clear();
            let read = reader.read_line(&mut line);
            if read.with_context(|| format!("cannot read {}", path.display()))? == 0 {
                self.advance()?;
                continue;
            }
            *number += 1;
            let place = || format!("{}, line {number}", path.display());
            let text = line.trim_end_matches('\n');
            if !line.ends_with('\n') && reader.fill_buf().is_ok_and(<[u8]>::is_empty) {
                bail!("{}: the line is cut; the run that wrote it was interrupted", place());
            }
            return parse(text).map(Some).with_context(place);
        }
    }
}

impl Iterator for Trace {
    type Item = Result<Record>;

    /// The next record. Nothing comes after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.current = None;
            self.files.clear();
        }
        read.transpose()
    }
}

fn parse(text: &str) -> Result<Record> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } =
        serde_json::from_str(text).map_err(|error| anyhow!("not a trace record: {error}"))?;
    if version != VERSION {
        bail!("trace version {version}, this program reads {VERSION}");
    }
    serde_json::from_str(text).map_err(|error| anyhow!("not a trace record: {error}"))
}

/// Older parts of the trace at `path`, by number.
fn parts(path: &Path) -> Result<Vec<PathBuf>> {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let (Some(file), Some(stem)) = (name(path), path.file_stem().and_then(|s| s.to_str())) else {
        return Ok(Vec::new());
    };
    let end = &file[stem.len()..];
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A folder that is not there is reported with the file.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let number = name(&entry).and_then(|name| {
            let rest = name.strip_prefix(stem)?.strip_prefix('.')?;
            let rest = rest.strip_suffix(".gz").unwrap_or(rest);
            let digits = rest.strip_suffix(end)?;
            let counts = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
            if counts { digits.parse::<u64>().ok() } else { None }
        });
        parts.extend(number.map(|number| (number, entry)));
    }
    parts.sort_unstable();
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}
