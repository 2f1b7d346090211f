//! A corpus of pull requests to learn bug fixing from, made on the spot: real bare git
//! repositories and the matching GH Archive files.
//!
//! [`generate`] writes a folder:
//!
//! ```text
//! OUT/repos/OWNER/NAME.git          12 bare repositories: 8 for training, 4 held out; 8 Python, 4 Rust
//! OUT/events/YYYY-MM-DD-H.json.gz   all that happened in them, hour by hour
//! OUT/corpus.json                   the repositories, the split, counts, the kind of every bug
//! ```
//!
//! Every bug fix is a true merge commit that closes an issue opened before; one small file changes
//! by one to three lines. On top, one pull request in nine is noise that a curator must drop. The
//! code is put together from function templates with planted bugs, and names from [`WORDS`]; no
//! function name, file name or (template, name) pair occurs on both sides of the split.
//!
//! The same options give the same bytes: event files, `corpus.json` and all commit names. (Packs
//! may differ between versions of git.) All text is the work of this project's authors.
//!
//! ```
//! use swerl_sample_corpus::{CorpusOptions, generate};
//!
//! let folder = tempfile::tempdir()?;
//! let options = CorpusOptions { seed: 1, pull_requests: 24 };
//! let report = generate(&folder.path().join("corpus"), &options, &mut |_done, _total| {})?;
//! assert_eq!(report.pull_requests, 24);
//! assert_eq!(report.unseen_function_share, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The pull request object is one `json!` of 50 fields.
#![recursion_limit = "256"]

mod archive;
mod error;
mod events;
mod generate;
mod git;
mod history;
mod names;
mod parallel;
mod plan;
mod random;
mod report;
mod source;
mod template;
mod wording;
mod words;

pub use error::CorpusError;
pub use generate::{CorpusOptions, generate};
pub use plan::FunctionRecord;
pub use report::{CORPUS_SCHEMA_VERSION, CorpusReport, RepositoryReport};
pub use template::Language;
pub use words::{CONSTANT_WORDS, WORDS};
