//! Why a pull request becomes no seed: every reason has a name and is counted.
//!
//! Rules that only look at texts and paths live in the modules below, one concern each. They
//! lean to recall: a doubtful case is kept.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

pub mod author;
pub mod bug;
pub mod data_file;
pub mod decontaminate;
pub mod docs;
pub mod duplicate;
pub mod generated;
pub mod hunk;
pub mod licence;
pub mod lock;
pub mod merge_of_target;
pub mod minified;
pub mod notebook;
pub mod revert;
pub mod size;
pub mod tests_only;
pub mod vendored;
pub mod verdict;
pub mod version;
pub mod whitespace;

pub use decontaminate::{SWE_BENCH_REPOSITORIES, SWE_BENCH_ROOTS};

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal => $why:literal,)*) => {
        /// Why a pull request was dropped. In the order of the checks: one that fails several is
        /// counted under the first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* #[doc = $why] #[serde(rename = $text)] $name,)*
        }

        impl DropReason {
            /// All reasons, in the order of the checks.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name used in reports, `snake_case`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// One line for people.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self { $(Self::$name => $why,)* }
            }
        }
    };
}

drop_reasons! {
    Unmerged = "unmerged" => "the pull request was not merged",
    DirectCommit = "direct_commit" => "a commit that is neither a merge nor a squash of a pull request",
    Octopus = "octopus" => "a merge of more than two branches",
    MergeOfTarget = "merge_of_target" => "a merge of the target branch, or of another long-lived one",
    SlimPayload = "slim_payload" => "the events lack the pull request's title",
    ExcludedRepository = "excluded_repository" => "the repository is kept for evaluation",
    ExcludedInstance = "excluded_instance" => "the pull request is an instance kept for evaluation",
    AfterDateCut = "after_date_cut" => "merged at or after the date from which evaluation starts",
    MissingRepository = "missing_repository" => "there is no clone of the repository",
    ReachesOutside = "reaches_outside" => "the clone borrows objects or settings from outside its folder",
    ForkOfExcluded = "fork_of_excluded" => "shares its root commit with a repository kept for evaluation",
    Bot = "bot" => "made by a program, or by its words an automated change",
    Revert = "revert" => "takes an earlier change back",
    NoLinkedIssue = "no_linked_issue" => "closes no issue by keyword",
    IssueUnknown = "issue_unknown" => "the closed issue's text before the fix was proposed is not known",
    NoIssueText = "no_issue_text" => "neither the issue nor the message says anything",
    NotABug = "not_a_bug" => "the issue asks for something else than a fix",
    MissingCommit = "missing_commit" => "the clone lacks the base or the head commit",
    UnrelatedHistories = "unrelated_histories" => "base and head have no common ancestor",
    Licence = "licence" => "the repository's licence is not on the allow-list",
    EmptyChange = "empty_change" => "no file's text changes",
    TooManyFiles = "too_many_files" => "changes more files than the limit",
    UnusualPath = "unusual_path" => "a changed path is not UTF-8 or holds control characters",
    SymbolicLink = "symbolic_link" => "changes a symbolic link",
    Submodule = "submodule" => "changes a submodule",
    LockFilesOnly = "lock_files_only" => "every hunk is flagged, most in files that a package manager writes",
    VendoredOnly = "vendored_only" => "every hunk is flagged, most in copies of other people's code",
    MinifiedOnly = "minified_only" => "every hunk is flagged, most in squeezed scripts or styles",
    GeneratedOnly = "generated_only" => "every hunk is flagged, most in files that a program wrote",
    NotebooksOnly = "notebooks_only" => "every hunk is flagged, most in notebooks",
    TestsOnly = "tests_only" => "every hunk is flagged, most in tests",
    DocsOnly = "docs_only" => "every hunk is flagged, most in documentation",
    VersionBumpOnly = "version_bump_only" => "every hunk is flagged, most as changed version numbers",
    DataFilesOnly = "data_files_only" => "every hunk is flagged, most in data or settings",
    WhitespaceOnly = "whitespace_only" => "every hunk is flagged, most as changed layout",
    NoProgrammingFile = "no_programming_file" => "changes no file of a programming language outside tests",
    TooLarge = "too_large" => "the changed files or the change itself are larger than the limit",
    MissingObject = "missing_object" => "the clone lacks a changed file's content",
    LfsPointer = "lfs_pointer" => "changes a pointer to large-file storage",
    BinaryFile = "binary_file" => "changes a binary file",
    NonUtf8 = "non_utf8" => "changes a text that is not UTF-8",
    PatchFails = "patch_fails" => "an imported patch does not apply to the clone's files",
    RoundTrip = "round_trip" => "the oracle applied to the context is not the merged tree's text",
    ExactDuplicate = "exact_duplicate" => "the same change as an earlier seed's",
    NearDuplicate = "near_duplicate" => "nearly the same change as an earlier seed's",
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the filters compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterOptions {
    /// Whether issues that ask for something else than a fix drop their pull request. Usual: yes.
    pub require_bug: bool,
    /// Repositories to leave out (`owner/name`, any case). Usual: [`SWE_BENCH_REPOSITORIES`].
    pub excluded_repositories: Vec<String>,
    /// Root commits whose clones are left out under any name. Usual: [`SWE_BENCH_ROOTS`].
    pub excluded_roots: Vec<String>,
    /// Pull requests to leave out, as `owner__name-12` in any case. Usual: those of the evaluation
    /// set.
    pub excluded_instances: BTreeSet<String>,
    /// Leaves out what was merged at this moment or later. Usual: none, or the date of the
    /// evaluation set.
    pub merged_before: Option<Timestamp>,
    /// SPDX identifiers of which the repository must have one; `None` allows all. Usual:
    /// [`licence::PERMISSIVE`] for data that is passed on.
    pub licences: Option<BTreeSet<String>>,
    /// The Jaccard similarity, from 0 to 1, from which on a change repeats an earlier one; `None`
    /// drops only exact repetitions. Usual: 0.8.
    pub near_duplicates: Option<f64>,
    /// The most changed files. Usual: 16.
    pub max_files: usize,
    /// The most bytes of all changed files' texts, before the change and after it, each. Usual:
    /// 131,072, about 32,000 tokens.
    pub max_bytes: u64,
    /// The most lines that differ, added and removed together, moved lines not counted. Usual:
    /// 1,000.
    pub max_changed_lines: usize,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            require_bug: true,
            excluded_repositories: SWE_BENCH_REPOSITORIES.map(str::to_owned).to_vec(),
            excluded_roots: SWE_BENCH_ROOTS.map(str::to_owned).to_vec(),
            excluded_instances: BTreeSet::new(),
            merged_before: None,
            licences: None,
            near_duplicates: Some(0.8),
            max_files: 16,
            max_bytes: 131_072,
            max_changed_lines: 1_000,
        }
    }
}

impl FilterOptions {
    /// Whether `repository` is to be left out.
    #[must_use]
    pub fn excludes(&self, repository: &str) -> bool {
        self.excluded_repositories.iter().any(|name| name.eq_ignore_ascii_case(repository))
    }
}
