//! The trace: every rollout as one line of JSON, versioned, readable back.
//!
//! ```text
//! {"version":1,"kind":"prompt","step":0,"prompt":0,"id":"o/r#1","text":..,"ids":[..],
//!  "files":[..],"skipped":[..]}
//! {"version":1,"kind":"completion","step":0,"prompt":0,"sample":0,"ids":[..],"log_probs":[..],
//!  "raw_log_probs":[..],"text":..,"finish":"stop","weights_version":0,"reward":..,"score":{..},
//!  "timings":{"prefill_s":..,"decode_s":..}}
//! ```
//!
//! A prompt's line comes before those of its completions. `reward` is what the trainer was told
//! (null: not judged), `score` is the truth with its reason. Lines end with LF; each step is
//! written and flushed as a whole, so an interrupted run leaves at most its last line torn, which
//! a writer that resumes removes and a reader reports. Readers ignore fields that they do not know
//! and refuse versions that they do not know.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swerl_grpo::Finish;
use swerl_reward::Score;

use crate::collect::ScoredGroup;
use crate::completion::Timings;
use crate::error::TraceError;

/// Version of the trace that is written, and the only one read.
pub const TRACE_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TraceRecord {
    /// A prompt of a step.
    Prompt(PromptRecord),
    /// A completion of a prompt.
    Completion(CompletionRecord),
}

/// A prompt of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The training step.
    pub step: u64,
    /// Number of the prompt within the step.
    pub prompt: u64,
    /// Id of the seed.
    pub id: String,
    /// The whole text.
    pub text: String,
    /// Its token ids.
    pub ids: Vec<u32>,
    /// Paths of the files shown.
    pub files: Vec<String>,
    /// Paths of the files left out for lack of room.
    pub skipped: Vec<String>,
}

/// A completion of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionRecord {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The training step.
    pub step: u64,
    /// Number of the prompt within the step.
    pub prompt: u64,
    /// Number of the sample within the prompt.
    pub sample: u64,
    /// Token ids as sampled.
    pub ids: Vec<u32>,
    /// Per id: natural log-probability under the distribution sampled from.
    pub log_probs: Vec<f32>,
    /// Per id: natural log-probability under the model itself.
    pub raw_log_probs: Vec<f32>,
    /// The text that was scored.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Version of the weights that sampled it.
    pub weights_version: u64,
    /// What the trainer was told; `None` where it was not judged.
    pub reward: Option<f64>,
    /// The score with its reason.
    pub score: Score,
    /// Where the time went.
    pub timings: Timings,
}

impl TraceRecord {
    /// The training step.
    #[must_use]
    pub fn step(&self) -> u64 {
        match self {
            Self::Prompt(record) => record.step,
            Self::Completion(record) => record.step,
        }
    }
}

/// Writes a trace, line by line.
#[derive(Debug)]
pub struct TraceWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl TraceWriter {
    /// A new trace; an older file at `path` is replaced.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let file = File::create(path).map_err(io("create", path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Goes on with the trace of a run that is resumed at `step`: what it holds of that step and
    /// later ones, and a torn last line, is removed. Without a file, as [`TraceWriter::create`].
    ///
    /// The shortened trace is written aside and renamed.
    ///
    /// # Errors
    /// [`TraceError`], when the file cannot be read, is no trace, or cannot be written.
    pub fn resume(path: &Path, step: u64) -> Result<Self, TraceError> {
        if !path.exists() {
            return Self::create(path);
        }
        let mut aside = path.as_os_str().to_owned();
        aside.push(".tmp");
        let aside = PathBuf::from(aside);
        let kept = (|| {
            let mut writer = Self::create(&aside)?;
            for line in lines(path, LastLine::MayBeTorn)? {
                let (text, record) = line?;
                if record.step() < step {
                    writer.put(text.as_bytes())?;
                }
            }
            writer.flush()?;
            writer.file.get_ref().sync_all().map_err(io("write", &aside))
        })();
        if let Err(error) = kept {
            let _ = std::fs::remove_file(&aside); // The first error is the one to report.
            return Err(error);
        }
        std::fs::rename(&aside, path).map_err(io("replace", path))?;
        let file = File::options().append(true).open(path).map_err(io("open", path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Writes the groups of one step, and flushes.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn write(&mut self, step: u64, groups: &[ScoredGroup]) -> Result<(), TraceError> {
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
                    reward: *reward,
                    score: score.clone(),
                    timings: completion.timings,
                }))?;
            }
        }
        self.flush()
    }

    fn put_record(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let line =
            serde_json::to_vec(record).map_err(|source| io("write", &self.path)(source.into()))?;
        self.put(&line)
    }

    fn put(&mut self, line: &[u8]) -> Result<(), TraceError> {
        let written = self.file.write_all(line).and_then(|()| self.file.write_all(b"\n"));
        written.map_err(io("write", &self.path))
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.file.flush().map_err(io("write", &self.path))
    }
}

/// Reads a trace record by record, holding one line at a time.
///
/// # Errors
/// [`TraceError::Io`] when the file cannot be opened. The last item may be an error that names its
/// line; nothing comes after it.
pub fn read_trace(
    path: &Path,
) -> Result<impl Iterator<Item = Result<TraceRecord, TraceError>>, TraceError> {
    Ok(lines(path, LastLine::MustBeWhole)?.map(|line| line.map(|(_, record)| record)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLine {
    MustBeWhole,
    MayBeTorn,
}

fn lines(
    path: &Path,
    last: LastLine,
) -> Result<impl Iterator<Item = Result<(String, TraceRecord), TraceError>>, TraceError> {
    let mut reader = BufReader::new(File::open(path).map_err(io("open", path))?);
    let path = path.to_owned();
    let (mut number, mut failed) = (0, false);
    Ok(std::iter::from_fn(move || {
        if failed {
            return None;
        }
        number += 1;
        let mut line = String::new();
        let result = match reader.read_line(&mut line) {
            Err(error) => Err(io("read", &path)(error)),
            Ok(0) => return None,
            Ok(_) if !line.ends_with('\n') && last == LastLine::MayBeTorn => return None,
            Ok(_) => {
                let text = line.trim_end_matches('\n');
                parse(&path, number, text).map(|record| (text.to_owned(), record))
            }
        };
        failed = result.is_err();
        Some(result)
    }))
}

fn parse(path: &Path, line: usize, text: &str) -> Result<TraceRecord, TraceError> {
    /// Read first: a record of another version need not parse as one of this.
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed = |source| TraceError::Record { path: path.to_owned(), line, source };
    let Versioned { version } = serde_json::from_str(text).map_err(malformed)?;
    if version != TRACE_VERSION {
        return Err(TraceError::Version {
            path: path.to_owned(),
            line,
            found: version,
            expected: TRACE_VERSION,
        });
    }
    serde_json::from_str(text).map_err(malformed)
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> TraceError {
    let path = path.to_owned();
    move |source| TraceError::Io { action, path, source }
}
