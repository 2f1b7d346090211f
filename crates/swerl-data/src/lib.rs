//! Mines merged pull requests from GH Archive events and git into seeds for reinforcement
//! learning on code: an issue, the files as they were, the fix.
//!
//! ```
//! use swerl_data::{CurateOptions, NoProgress, RepositoryFolder, curate_events, write_seeds};
//! # fn run() -> Result<(), swerl_data::DataError> {
//! let clones = RepositoryFolder::new("clones");
//! let (seeds, report) =
//!     curate_events("events", &clones, &CurateOptions::default(), &NoProgress)?;
//! println!("{report}");
//! write_seeds("seeds.jsonl", &seeds)?;
//! # Ok(())
//! # }
//! # assert!(run().is_err());
//! ```
//!
//! The parts, in the order of the flow: [`event`] (hourly `*.json.gz`), [`fold`] (events to pull
//! requests), [`link`] (which issue a pull request closes), [`filter`] (why one is dropped),
//! [`git`] (clones, through the `git` program), [`context`] (unmodified files that belong),
//! [`seed`] and [`jsonl`] (the output), [`split`].
//!
//! What this crate never does: fetch anything, write to a clone, run anything a clone brings
//! along, train, or know what a model is.

#[cfg(feature = "aggregate")]
pub mod aggregate;
pub mod card;
pub mod context;
pub mod curate;
pub mod error;
pub mod event;
pub mod filter;
pub mod fold;
pub mod git;
pub mod ids;
#[cfg(feature = "ingest")]
pub mod ingest;
pub mod interop;
pub mod jsonl;
pub mod language;
pub mod link;
pub mod message;
pub mod note;
pub mod patch;
pub mod progress;
pub mod pull_request;
pub mod report;
pub mod seed;
pub mod split;
#[cfg(feature = "ingest")]
pub(crate) mod stage;
pub mod time;
pub mod tokens;

#[cfg(feature = "aggregate")]
pub use crate::aggregate::{AggregateOptions, AggregateReport, aggregate};
pub use crate::card::DataCard;
pub use crate::context::{ContextOptions, RelevantFiles, RelevantRequest};
pub use crate::curate::comments::CommentOptions;
pub use crate::curate::events::{curate_events, curate_events_with};
pub use crate::curate::judges::{BugJudge, Judges};
#[cfg(feature = "ingest")]
pub use crate::curate::parts::curate_aggregated;
pub use crate::curate::repository::{RepositoryOptions, curate_repository, curate_repository_with};
pub use crate::curate::{CURATION_VERSION, CurateOptions};
pub use crate::error::DataError;
pub use crate::filter::{DropReason, FilterOptions};
pub use crate::ids::{ObjectId, Repositories, RepositoryFolder};
#[cfg(feature = "ingest")]
pub use crate::ingest::{IngestOptions, IngestReport, ingest};
pub use crate::interop::{InstanceFormat, import_instances};
pub use crate::jsonl::{read_seeds, write_seeds};
pub use crate::note::{Note, Notes};
pub use crate::progress::{NoProgress, Progress};
pub use crate::report::CurateReport;
pub use crate::seed::{
    ContextFile, FileRole, IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample,
};
pub use crate::split::{HeldOut, Split, split_by_repository};

/// The README's examples, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
