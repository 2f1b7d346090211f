//! Writing a trace: whole steps, parts of bounded size, resuming without a seam.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::parts::{aside, numbered, rotate};
use super::{CompletionRecord, LastLine, PromptRecord, TRACE_VERSION, TraceRecord, io, lines};
use crate::collect::ScoredGroup;
use crate::error::TraceError;

/// How large a trace may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLimits {
    /// Once the newest file holds so many bytes it becomes a part before the next step is written. 0
    /// never cuts.
    pub part_bytes: u64,
    /// Parts kept beside the newest file, the oldest deleted; 0 keeps all.
    pub parts: usize,
    /// Whether parts are compressed with gzip.
    pub compress: bool,
}

impl TraceLimits {
    /// One file that grows without end.
    pub const NONE: Self = Self { part_bytes: 0, parts: 0, compress: false };
}

/// Writes a trace, line by line.
#[derive(Debug)]
pub struct TraceWriter {
    path: PathBuf,
    file: BufWriter<File>,
    limits: TraceLimits,
    bytes: u64,
}

impl TraceWriter {
    /// A new trace; an older file at `path` is replaced.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let file = File::create(path).map_err(io("create", path))?;
        let (path, limits) = (path.to_owned(), TraceLimits::NONE);
        Ok(Self { path, file: BufWriter::new(file), limits, bytes: 0 })
    }

    /// The same, cut into parts.
    #[must_use]
    pub fn with_limits(self, limits: TraceLimits) -> Self {
        Self { limits, ..self }
    }

    /// Goes on with the trace of a run that is resumed at `step`: what it holds of that step and
    /// later ones, in whatever part, and a torn last line, is removed. Without a file, as
    /// [`TraceWriter::create`].
    ///
    /// The shortened trace is written aside and renamed.
    ///
    /// # Errors
    /// [`TraceError`], when a file cannot be read, is no trace, or cannot be written.
    pub fn resume(path: &Path, step: u64) -> Result<Self, TraceError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let parts = match folder {
            Some(folder) if !folder.exists() => Vec::new(),
            _ => numbered(path)?,
        };
        // Parts whose steps are all before `step` stay as they are.
        let mut before = None;
        let mut cut = Vec::new();
        for (_, part) in parts {
            let last = last_step(&part)?;
            if cut.is_empty() && last.is_some_and(|last| last < step) {
                before = last;
            } else {
                cut.push(part);
            }
        }
        if !path.exists() && cut.is_empty() {
            return Self::create(path);
        }
        let target = aside(path);
        let kept = (|| {
            let mut writer = Self::create(&target)?;
            let mut done = before;
            for source in cut.iter().map(PathBuf::as_path).chain(path.exists().then_some(path)) {
                let from = done;
                for line in lines(source, LastLine::MayBeTorn)? {
                    let (text, record) = line?;
                    // A step that stands twice was cut off just when the run died.
                    if record.step() < step && from.is_none_or(|from| record.step() > from) {
                        writer.put(text.as_bytes())?;
                        done = Some(record.step());
                    }
                }
            }
            writer.flush()?;
            writer.file.get_ref().sync_all().map_err(io("write", &target))?;
            Ok(writer.bytes)
        })();
        let bytes = match kept {
            Ok(bytes) => bytes,
            Err(error) => {
                let _ = std::fs::remove_file(&target); // The first error is the one to report.
                return Err(error);
            }
        };
        std::fs::rename(&target, path).map_err(io("replace", path))?;
        for part in cut {
            std::fs::remove_file(&part).map_err(io("delete", &part))?;
        }
        let file = File::options().append(true).open(path).map_err(io("open", path))?;
        let (path, limits) = (path.to_owned(), TraceLimits::NONE);
        Ok(Self { path, file: BufWriter::new(file), limits, bytes })
    }

    /// Writes the groups of one step, and flushes.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn write(&mut self, step: u64, groups: &[ScoredGroup]) -> Result<(), TraceError> {
        if self.limits.part_bytes > 0 && self.bytes >= self.limits.part_bytes {
            self.cut()?;
        }
        for (prompt, group) in (0..).zip(groups) {
            self.put_record(&TraceRecord::Prompt(PromptRecord {
                version: TRACE_VERSION,
                step,
                prompt,
                id: group.prompt.id.clone(),
                text: group.prompt.text.clone(),
                ids: group.prompt.ids.clone(),
                files: group.prompt.files.clone(),
                skipped: group.prompt.skipped.clone(),
            }))?;
            let scored = group.completions.iter().zip(&group.scores).zip(&group.rewards);
            for (sample, ((completion, score), reward)) in (0..).zip(scored) {
                self.put_record(&TraceRecord::Completion(CompletionRecord {
                    version: TRACE_VERSION,
                    step,
                    prompt,
                    sample,
                    ids: completion.ids.clone(),
                    log_probs: completion.log_probs.clone(),
                    raw_log_probs: completion.raw_log_probs.clone(),
                    text: completion.text.clone(),
                    finish: completion.finish,
                    weights_version: completion.weights_version,
                    version_spans: completion.version_spans.clone(),
                    reward: *reward,
                    score: score.clone(),
                    timings: completion.timings,
                }))?;
            }
        }
        self.flush()
    }

    /// Makes the newest file a part, and begins another.
    fn cut(&mut self) -> Result<(), TraceError> {
        self.flush()?;
        rotate(&self.path, self.limits.compress, self.limits.parts)?;
        let file = File::create(&self.path).map_err(io("create", &self.path))?;
        self.file = BufWriter::new(file);
        self.bytes = 0;
        Ok(())
    }

    fn put_record(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let line =
            serde_json::to_vec(record).map_err(|source| io("write", &self.path)(source.into()))?;
        self.put(&line)
    }

    fn put(&mut self, line: &[u8]) -> Result<(), TraceError> {
        let written = self.file.write_all(line).and_then(|()| self.file.write_all(b"\n"));
        written.map_err(io("write", &self.path))?;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.file.flush().map_err(io("write", &self.path))
    }
}

/// The last step that a part holds.
fn last_step(part: &Path) -> Result<Option<u64>, TraceError> {
    let mut last = None;
    for line in lines(part, LastLine::MayBeTorn)? {
        last = Some(line?.1.step());
    }
    Ok(last)
}
