//! What can go wrong outside the arithmetic: files, configurations, tokenizers.

use std::path::PathBuf;

/// An error of this crate. Each names the file and the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not the JSON it should be.
    #[error("{} is not valid", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// A configuration asks for something that is not computed here.
    #[error("{}: {reason}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is refused, by name.
        reason: String,
    },
    /// The weights do not fit the configuration: everything found, at once.
    #[error("{}: {}", path.display(), problems.join("; "))]
    Weights {
        /// The folder or file.
        path: PathBuf,
        /// One entry for each missing, unexpected or misshapen tensor.
        problems: Vec<String>,
    },
    /// The tokenizer library refused a file or a training.
    #[error("tokenizer {}: {reason}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// The library's reason.
        reason: String,
    },
}
