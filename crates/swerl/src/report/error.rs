//! What can go wrong while a report is made. Texts of the model cannot: they are data.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why no report could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The folder is missing, or is none.
    #[error("{}: no such folder; name the folder that the run writes to", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds nothing that a run writes.
    #[error(
        "{}: no run: there is no *metrics.jsonl, no rollouts.jsonl and no evaluation-*.json in it",
        path.display()
    )]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The report cannot be written.
    #[error("cannot write {what}")]
    Write {
        /// What was written: a file, or "the report".
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A record has a version that this program does not know.
    #[error("{}:{line}: version {found}; this program reads version 1, use one that is newer", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The version found.
        found: u64,
    },
    /// A line of a seeds file is no seed.
    #[error("{}:{line}: not a seed: {reason}; make the file with `swerl curate`", path.display())]
    Seed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The tokenizer cannot be used.
    #[error("{}: {reason}; give the tokenizer.json of the model's folder", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The trace holds nothing of the step asked for.
    #[error("{}: no rollout of step {step}; {there}", path.display())]
    NoSuchStep {
        /// The trace.
        path: PathBuf,
        /// The step asked for.
        step: u64,
        /// Which steps there are.
        there: String,
    },
    /// The trace was cut or rewritten between two looks at it.
    #[error("{}: it changed while it was read (a run that resumes cuts it); run the command again", path.display())]
    Changed {
        /// The trace.
        path: PathBuf,
    },
}

impl ReportError {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_path_buf(), source }
    }

    pub(super) fn write(source: io::Error) -> Self {
        Self::Write { what: "the report".into(), source }
    }
}
