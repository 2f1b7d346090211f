//! What can go wrong while a corpus is written: the disk, or the `git` program.

use std::io;
use std::path::PathBuf;

/// A failure of [`generate`](crate::generate). Nothing is left at the output path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The output path is taken; the generator never replaces a folder.
    #[error("{} exists already: choose another folder or remove it", path.display())]
    Exists {
        /// The output path.
        path: PathBuf,
    },
    /// A file or folder could not be made.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, as a verb phrase ("write", "create the folder").
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason the system gave.
        #[source]
        source: io::Error,
    },
    /// The `git` program could not be started.
    #[error("cannot run git: install it and put it on PATH")]
    GitMissing {
        /// The reason the system gave.
        #[source]
        source: io::Error,
    },
    /// The `git` program ended with a failure.
    #[error("git {command} failed in {} ({status}): {message}", path.display())]
    GitFailed {
        /// The subcommand.
        command: &'static str,
        /// The repository.
        path: PathBuf,
        /// The exit status.
        status: std::process::ExitStatus,
        /// The last line git wrote to its error output.
        message: String,
    },
    /// git wrote a list of marks that lacks a commit.
    #[error("git fast-import named no commit for mark {mark} in {}", path.display())]
    MarkMissing {
        /// The mark's number.
        mark: usize,
        /// The repository.
        path: PathBuf,
    },
}
