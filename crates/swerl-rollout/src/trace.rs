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
//!
//! A long trace is cut between steps into parts ([`TraceLimits`]): `rollouts.jsonl` is the newest,
//! `rollouts.0001.jsonl.gz`, `rollouts.0002.jsonl.gz` ... are older ones, the lowest number first.

mod parts;
mod writer;

pub use parts::trace_parts;
pub use writer::{TraceLimits, TraceWriter};

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use swerl_grpo::Finish;
use swerl_reward::Score;

use crate::completion::{Timings, VersionSpan};
use crate::error::TraceError;

/// Version of the trace that is written, and the only one read.
pub const TRACE_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // Completions are most of a trace, and one is held at a time.
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
    /// Version of the weights that sampled it, the oldest one where several did.
    pub weights_version: u64,
    /// Which version sampled which tokens; absent where one sampled them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version_spans: Vec<VersionSpan>,
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

/// Reads one file of a trace record by record, holding one line at a time. A name that ends in `.gz` is
/// a compressed part; [`trace_parts`] lists all parts of a trace.
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
    let file = File::open(path).map_err(io("open", path))?;
    let mut reader: Box<dyn BufRead> = if path.extension().is_some_and(|end| end == "gz") {
        Box::new(BufReader::new(flate2::read::GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
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
