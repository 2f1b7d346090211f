//! The trace `rollouts.jsonl`: an index of its groups, and single groups read back.
//!
//! The trace is streamed twice: once for an index of some 150 bytes a group and 16 a rollout, then only at the
//! places of the groups that are shown. So memory does not grow with the texts. A prompt's record opens a
//! group; the same step and prompt again replaces the one before, as a resumed run may write it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use swerl_reward::Score;

use super::{
    error::ReportError,
    lines::{Content, Lines},
    notes::Notes,
};

/// The version of the trace that is read.
const VERSION: u64 = 1;

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: u64,
    length: u32,
}

/// What the index knows of a group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) step: u64,
    pub(super) prompt: u64,
    /// The seed's id.
    pub(super) id: String,
    /// Highest reward of the group; `None` when nothing in it was judged.
    pub(super) best: Option<f64>,
    /// Lowest reward of the group.
    pub(super) worst: Option<f64>,
    /// Bytes of its records.
    pub(super) bytes: u64,
    record: Place,
    completions: Vec<Place>,
}

impl Group {
    /// Number of its completions.
    pub(super) fn len(&self) -> usize {
        self.completions.len()
    }
}

/// All groups of a trace by step and prompt.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    pub(super) groups: Vec<Group>,
}

/// A prompt's record.
#[derive(Debug, Deserialize)]
pub(super) struct PromptRecord {
    pub(super) step: u64,
    pub(super) prompt: u64,
    #[serde(default)]
    pub(super) id: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) ids: Vec<u32>,
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) skipped: Vec<String>,
}

/// A completion's record.
#[derive(Debug, Deserialize)]
pub(super) struct CompletionRecord {
    pub(super) step: u64,
    pub(super) prompt: u64,
    pub(super) sample: u64,
    pub(super) ids: Vec<u32>,
    #[serde(default)]
    pub(super) log_probs: Vec<f32>,
    #[serde(default)]
    pub(super) raw_log_probs: Vec<f32>,
    pub(super) text: String,
    #[serde(default)]
    pub(super) finish: String,
    #[serde(default)]
    pub(super) weights_version: u64,
    pub(super) reward: Option<f64>,
    /// Not of version 1's required fields: shown where a writer adds it.
    #[serde(default)]
    pub(super) advantage: Option<f64>,
    pub(super) score: ScoreOrKind,
}

/// A score, or what is left of it when its outcome is of a kind that this program does not know.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ScoreOrKind {
    Known(Box<Score>),
    Unknown { reward: f64, outcome: Kind },
}

/// An outcome of a kind that this program does not know.
#[derive(Debug, Deserialize)]
pub(super) struct Kind {
    pub(super) kind: String,
}

/// The head of a record, read first. Nothing of its texts is kept.
#[derive(Deserialize)]
struct Head<'a> {
    version: u64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    step: u64,
    prompt: u64,
    #[serde(default, borrow)]
    id: Cow<'a, str>,
    #[serde(default)]
    reward: Option<f64>,
}

impl Index {
    /// Reads the trace once.
    pub(super) fn read(path: &Path, notes: &mut Notes) -> Result<Self, ReportError> {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut lines = Lines::new(File::open(path).map_err(ReportError::read(path))?);
        let mut groups: BTreeMap<(u64, u64), Group> = BTreeMap::new();
        let (mut again, mut orphans) = (0_u64, 0_u64);
        while let Some(line) = lines.next().map_err(ReportError::read(path))? {
            let bytes = match line.content {
                Content::Whole(bytes) => bytes,
                Content::Torn => {
                    notes.torn(&file, line.number);
                    continue;
                }
                Content::TooLong => {
                    notes.unreadable(&file, line.number, "the line is too long");
                    continue;
                }
            };
            let head: Head<'_> = match serde_json::from_slice(bytes) {
                Ok(head) => head,
                Err(error) => {
                    // A record of another version need not parse as one of this.
                    version(bytes, path, line.number)?;
                    notes.unreadable(&file, line.number, &error.to_string());
                    continue;
                }
            };
            if head.version != VERSION {
                let (path, found) = (path.to_path_buf(), head.version);
                return Err(ReportError::Version { path, line: line.number, found });
            }
            let place = Place {
                offset: line.offset,
                length: u32::try_from(bytes.len()).expect("lines are at most 64 MiB"),
            };
            let key = (head.step, head.prompt);
            match &*head.kind {
                "prompt" => {
                    let group = Group {
                        step: head.step,
                        prompt: head.prompt,
                        id: head.id.into_owned(),
                        best: None,
                        worst: None,
                        bytes: u64::from(place.length),
                        record: place,
                        completions: Vec::new(),
                    };
                    again += u64::from(groups.insert(key, group).is_some());
                }
                "completion" => match groups.get_mut(&key) {
                    None => orphans += 1,
                    Some(group) => {
                        group.completions.push(place);
                        group.bytes += u64::from(place.length);
                        if let Some(reward) = head.reward {
                            group.best = Some(group.best.map_or(reward, |best| best.max(reward)));
                            group.worst =
                                Some(group.worst.map_or(reward, |worst| worst.min(reward)));
                        }
                    }
                },
                other => {
                    notes.unreadable(&file, line.number, &format!("no record is a {other:?}"));
                }
            }
        }
        if again > 0 {
            notes.add(format!("{file}: {again} prompts come again; the last one counts"));
        }
        if orphans > 0 {
            notes.add(format!("{file}: {orphans} completions without their prompt are left out"));
        }
        Ok(Self { path: path.to_path_buf(), groups: groups.into_values().collect() })
    }

    /// Keeps the groups of one step.
    pub(super) fn only(&mut self, step: u64) -> Result<(), ReportError> {
        let there = match (self.groups.first(), self.groups.last()) {
            (Some(first), Some(last)) => {
                format!("the trace has steps {} to {}", first.step, last.step)
            }
            _ => "the trace is empty".into(),
        };
        self.groups.retain(|group| group.step == step);
        if self.groups.is_empty() {
            return Err(ReportError::NoSuchStep { path: self.path.clone(), step, there });
        }
        Ok(())
    }

    /// Number of rollouts.
    pub(super) fn rollouts(&self) -> usize {
        self.groups.iter().map(Group::len).sum()
    }

    /// Opens the trace to read groups back.
    pub(super) fn open(&self) -> Result<Reader<'_>, ReportError> {
        let file = File::open(&self.path).map_err(ReportError::read(&self.path))?;
        Ok(Reader { path: &self.path, file, buffer: Vec::new() })
    }
}

/// Reads groups back at their places.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    path: &'a Path,
    file: File,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    /// The prompt and the completions of `group`, by sample. A completion that cannot be read is noted.
    pub(super) fn group(
        &mut self,
        group: &Group,
        notes: &mut Notes,
    ) -> Result<Option<(PromptRecord, Vec<CompletionRecord>)>, ReportError> {
        let key = (group.step, group.prompt);
        let mut lost = |what: &str, error: &serde_json::Error| {
            notes.add(format!(
                "rollouts.jsonl: {what} of step {}, prompt {} left out, it cannot be read: {error}",
                key.0, key.1
            ));
        };
        let prompt: PromptRecord = match self.record(group.record)? {
            Ok(record) => record,
            Err(error) => {
                lost("the group", &error);
                return Ok(None);
            }
        };
        let mut same = (prompt.step, prompt.prompt) == key;
        let mut completions = Vec::with_capacity(group.len());
        for &place in &group.completions {
            match self.record::<CompletionRecord>(place)? {
                Ok(record) => {
                    same &= (record.step, record.prompt) == key;
                    completions.push(record);
                }
                Err(error) => lost("a completion", &error),
            }
        }
        if !same {
            return Err(ReportError::Changed { path: self.path.to_path_buf() });
        }
        completions.sort_by_key(|completion| completion.sample);
        Ok(Some((prompt, completions)))
    }

    fn record<T: DeserializeOwned>(
        &mut self,
        place: Place,
    ) -> Result<serde_json::Result<T>, ReportError> {
        self.buffer.resize(place.length as usize, 0);
        let read = self
            .file
            .seek(SeekFrom::Start(place.offset))
            .and_then(|_| self.file.read_exact(&mut self.buffer));
        match read {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(ReportError::Changed { path: self.path.to_path_buf() });
            }
            read => read.map_err(ReportError::read(self.path))?,
        }
        let first = self.buffer.first();
        if first != Some(&b'{') && first.is_some_and(|byte| !byte.is_ascii_whitespace()) {
            return Err(ReportError::Changed { path: self.path.to_path_buf() });
        }
        Ok(serde_json::from_slice(&self.buffer))
    }
}

/// Refuses a record of another version.
fn version(bytes: &[u8], path: &Path, line: u64) -> Result<(), ReportError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(Versioned { version }) if version != VERSION => {
            Err(ReportError::Version { path: path.to_path_buf(), line, found: version })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
impl Group {
    /// A group of two rollouts and 100 bytes.
    pub(super) fn for_tests(step: u64, prompt: u64, worst: f64, best: f64) -> Self {
        let record = Place { offset: 0, length: 0 };
        Self {
            step,
            prompt,
            id: String::new(),
            best: Some(best),
            worst: Some(worst),
            bytes: 100,
            record,
            completions: vec![record; 2],
        }
    }
}
