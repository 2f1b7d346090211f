//! Why a pull request becomes no seed: every reason has a name and is counted.
//!
//! Rules that only look at texts and paths live in the modules below, one concern each. They
//! lean to recall: a doubtful case is kept.

use std::fmt;

use serde::{Deserialize, Serialize};

pub mod author;
pub mod bug;
pub mod size;
pub mod version;

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
    MissingRepository = "missing_repository" => "there is no clone of the repository",
    Bot = "bot" => "made by a program, or by its words an automated change",
    Revert = "revert" => "takes an earlier change back",
    NoLinkedIssue = "no_linked_issue" => "closes no issue by keyword",
    IssueUnknown = "issue_unknown" => "the closed issue's text before the fix was proposed is not known",
    NoIssueText = "no_issue_text" => "neither the issue nor the message says anything",
    NotABug = "not_a_bug" => "the issue asks for something else than a fix",
    MissingCommit = "missing_commit" => "the clone lacks the base or the head commit",
    UnrelatedHistories = "unrelated_histories" => "base and head have no common ancestor",
    EmptyChange = "empty_change" => "no file's text changes",
    TooManyFiles = "too_many_files" => "changes more files than the limit",
    UnusualPath = "unusual_path" => "a changed path is not UTF-8 or holds control characters",
    SpecialFile = "special_file" => "changes a symbolic link or a submodule",
    LockFilesOnly = "lock_files_only" => "changes only files that a package manager writes",
    NoProgrammingFile = "no_programming_file" => "changes no file of a programming language",
    TestsOnly = "tests_only" => "changes no programming file but tests",
    TooLarge = "too_large" => "the changed files or the change itself are larger than the limit",
    MissingObject = "missing_object" => "the clone lacks a changed file's content",
    BinaryFile = "binary_file" => "changes a binary file or a pointer to one",
    NonUtf8 = "non_utf8" => "changes a text that is not UTF-8",
    VersionBumpOnly = "version_bump_only" => "changes only version numbers",
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The 12 repositories of SWE-bench, which training must not see.
pub const SWE_BENCH_REPOSITORIES: [&str; 12] = [
    "astropy/astropy",
    "django/django",
    "matplotlib/matplotlib",
    "mwaskom/seaborn",
    "pallets/flask",
    "psf/requests",
    "pydata/xarray",
    "pylint-dev/pylint",
    "pytest-dev/pytest",
    "scikit-learn/scikit-learn",
    "sphinx-doc/sphinx",
    "sympy/sympy",
];

/// What the filters compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterOptions {
    /// Whether issues that ask for something else than a fix drop their pull request. Usual: yes.
    pub require_bug: bool,
    /// Repositories to leave out (`owner/name`, any case). Usual: [`SWE_BENCH_REPOSITORIES`].
    pub excluded_repositories: Vec<String>,
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
