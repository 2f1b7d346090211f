//! What can go wrong outside the data itself: files, archives, repositories, the `git` program.
//!
//! A pull request that is no use is never an error; it is dropped with a counted
//! [`DropReason`](crate::DropReason). Every message is one line that names the file or repository
//! and, where there is one, the remedy. The underlying cause is only in `source()`.

use std::io;
use std::path::PathBuf;

use crate::interop::InstanceProblem;
use crate::seed::SeedProblem;

/// A fault of the world: unreadable input, a damaged archive, a broken repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file or folder could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file could not be written; nothing was left at `path` that was not there before.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A gzip file ended early or is damaged.
    #[error("{}: the gzip stream is truncated or damaged after {lines} lines; fetch the file again", path.display())]
    Gzip {
        /// The archive.
        path: PathBuf,
        /// Whole lines that could be read before the fault.
        lines: u64,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line of an events file is not an event.
    #[error("{}:{line}: not a GH Archive event", path.display())]
    Event {
        /// The events file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A folder that should hold events has none.
    #[error("{}: no *.json.gz file in this folder", path.display())]
    NoEvents {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of a stage is in use.
    #[error("{}: another process is writing to this folder; wait for it, or choose another", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of a stage lacks files that a finished one has.
    #[error("{}: this stage is not finished; run {stage} again", path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// The command that finishes it.
        stage: &'static str,
    },
    /// A stage's folder was made from something else.
    #[error("{}: made from other inputs or with other options; choose another folder, or remove this one", path.display())]
    OtherInputs {
        /// The folder.
        path: PathBuf,
    },
    /// A query failed.
    #[cfg(feature = "aggregate")]
    #[error("{}: the query for it failed; with too little memory, allow more or ask for more parts", path.display())]
    Query {
        /// The file that was to be written.
        path: PathBuf,
        /// The cause.
        #[source]
        source: datafusion::error::DataFusionError,
    },
    /// A parquet file cannot be read.
    #[cfg(feature = "ingest")]
    #[error("{}: the parquet file is damaged; remove it and run the stage that wrote it again", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// A parquet file has other columns than events have.
    #[cfg(feature = "ingest")]
    #[error("{}: not a parquet file of events of version {}; run the stage that wrote it again", path.display(), crate::ingest::EVENTS_SCHEMA_VERSION)]
    TableSchema {
        /// The file.
        path: PathBuf,
    },
    /// A line of a seeds file is not a seed.
    #[error("{}:{line}: not a seed", path.display())]
    SeedLine {
        /// The seeds file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A seed breaks an invariant of the schema.
    #[error("{}:{line}: this seed is inconsistent", path.display())]
    InvalidSeed {
        /// The seeds file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The broken invariant.
        #[source]
        source: SeedProblem,
    },
    /// A row is no instance of the data set's format.
    #[error("{}:{line}: not an instance of this format", path.display())]
    Instance {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        #[source]
        source: InstanceProblem,
    },
    /// A seeds file holds no seed.
    #[error("{}: the file holds no seeds", path.display())]
    NoSeeds {
        /// The seeds file.
        path: PathBuf,
    },
    /// The `git` program could not be started.
    #[error("cannot start the git program; install git and put it on the PATH")]
    GitProgram {
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A folder is not a git repository.
    #[error("{}: not a git repository (neither a .git nor HEAD and objects in it)", path.display())]
    NotARepository {
        /// The folder.
        path: PathBuf,
    },
    /// A clone borrows from outside its folder, which cannot be told from reading other people's
    /// files.
    #[error("{}: {what} leads out of the clone; clone it again without --shared or --reference, or remove that setting", path.display())]
    ReachesOutside {
        /// The repository.
        path: PathBuf,
        /// What leads out.
        what: String,
    },
    /// A repository has no commit to read: it is empty or its objects are gone.
    #[error("{}: the commit '{revision}' cannot be read; the repository is empty or lacks its objects: clone it again with its history", path.display())]
    NoCommit {
        /// The repository.
        path: PathBuf,
        /// The revision that was asked for.
        revision: String,
    },
    /// A `git` command failed.
    #[error("{}: git {command} failed ({status}): {message}", path.display())]
    Git {
        /// The repository.
        path: PathBuf,
        /// The git command.
        command: String,
        /// How it ended.
        status: String,
        /// The first line it wrote to its standard error.
        message: String,
    },
    /// The pipe to or from a `git` command broke.
    #[error("{}: lost the pipe to git {command}", path.display())]
    GitPipe {
        /// The repository.
        path: PathBuf,
        /// The git command.
        command: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A `git` command answered something else than its manual says.
    #[error("{}: git {command} answered something unexpected: {answer:?}", path.display())]
    GitAnswer {
        /// The repository.
        path: PathBuf,
        /// The git command.
        command: String,
        /// The start of the answer.
        answer: String,
    },
    /// A repository name is not of the form `owner/name`.
    #[error("'{name}' is not a repository name of the form owner/name")]
    RepositoryName {
        /// The name.
        name: String,
    },
}
