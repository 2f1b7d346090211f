//! The seed of a reinforcement-learning prompt: an issue, the files as they were, the fix.
//!
//! Schema version 1. One seed is one JSON object on one line. Readers ignore fields they do not
//! know and refuse versions they do not know. `oracle` maps a path to the full new text; the
//! empty text is a deletion, a path outside `files` is a new file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{ObjectId, split_repository_name};

/// The version of the schema that this crate writes, and the only one it reads.
pub const SEED_SCHEMA_VERSION: u32 = 1;

/// One fix with everything that a prompt and a reward need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedExample {
    /// [`SEED_SCHEMA_VERSION`].
    pub version: u32,
    /// `owner/name#12`; `owner/name@<12 digits of the commit>` where no number is known.
    pub id: String,
    /// `owner/name`.
    pub repo: String,
    /// The pull request's number; 0 where none is known.
    pub pull_request: u64,
    /// The commit that `files` are read from: the merge base of the target branch and the head.
    pub base_commit: String,
    /// The commit that `oracle` is read from.
    pub head_commit: String,
    /// The commit that brought the change into the target branch.
    pub merge_commit: Option<String>,
    /// When that was, as `2016-05-04T12:30:00Z`.
    pub merged_at: Option<String>,
    /// The title of the pull request, or of the commit.
    pub title: String,
    /// The description of the pull request, or the commit message below its title.
    pub body: String,
    /// What the fix was asked for with.
    pub issue: IssueText,
    /// The files of the prompt: those that the change edits, then unmodified related ones.
    pub files: Vec<ContextFile>,
    /// Path to full new text after the change; `""` is a deletion.
    pub oracle: BTreeMap<String, String>,
}

/// The text that asks for the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueText {
    /// The issue's number, where one is known.
    pub number: Option<u64>,
    /// One line.
    pub title: String,
    /// As it stood before the fix was proposed; may be empty.
    pub body: String,
    /// Its web address, where one is known.
    pub url: Option<String>,
    /// Where the text comes from.
    pub source: IssueSource,
}

/// Where an issue text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueSource {
    /// An issue that the pull request closes by keyword.
    LinkedIssue,
    /// The message of the merge or squash commit; it may give away more than an issue would.
    CommitMessage,
}

/// One whole file of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    /// Relative to the root of the repository, `/` between folders.
    pub path: String,
    /// Why it is there. A prompt must not show this.
    pub role: FileRole,
    /// The text at the base commit.
    pub text: String,
}

/// Why a file is in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The change edits or deletes it.
    Edit,
    /// The change leaves it alone; it keeps a model from learning to edit all it sees.
    Relevant,
}

/// An invariant that a seed breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedProblem {
    /// Another schema version.
    #[error("schema version {found}, this program reads {SEED_SCHEMA_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// A field that must not be empty is empty.
    #[error("the field '{field}' is empty")]
    Empty {
        /// Its name.
        field: &'static str,
    },
    /// `repo` is not `owner/name`.
    #[error("'{repo}' is not of the form owner/name")]
    Repository {
        /// The name found.
        repo: String,
    },
    /// A commit is not 40 or 64 hexadecimal digits.
    #[error("'{commit}' is not a commit id")]
    Commit {
        /// The text found.
        commit: String,
    },
    /// A path leaves the repository or cannot be written in one line.
    #[error("{path:?} is not a plain relative path")]
    Path {
        /// The path.
        path: String,
    },
    /// A path is listed twice.
    #[error("'{path}' is listed twice")]
    Twice {
        /// The path.
        path: String,
    },
    /// An oracle text equals the file's text.
    #[error("the oracle leaves '{path}' unchanged")]
    Unchanged {
        /// The path.
        path: String,
    },
    /// A file's role and the oracle disagree.
    #[error("the role of '{path}' and the oracle disagree")]
    Role {
        /// The path.
        path: String,
    },
}

/// Whether a path is relative, stays in its tree, fits one line of text and does not lie in a
/// `.git` folder, where a text could become a program that git runs.
#[must_use]
pub fn is_plain_path(path: &str) -> bool {
    let component = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git")
    };
    path.split('/').all(component) && !path.chars().any(char::is_control)
}

impl SeedExample {
    /// Path to text of all files of the prompt, edited or not.
    #[must_use]
    pub fn context(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect()
    }

    /// The issue as one text: the title, a blank line, the body; the title alone if there is no
    /// body.
    #[must_use]
    pub fn issue_text(&self) -> String {
        match (self.issue.title.trim(), self.issue.body.trim()) {
            (title, "") => title.to_owned(),
            ("", body) => body.to_owned(),
            (title, body) => format!("{title}\n\n{body}"),
        }
    }

    /// The order of all outputs: by merge time, then repository, then number, then id.
    #[must_use]
    pub fn sort_key(&self) -> (&str, &str, u64, &str) {
        (self.merged_at.as_deref().unwrap_or(""), &self.repo, self.pull_request, &self.id)
    }

    /// Checks every invariant of the schema.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn validate(&self) -> Result<(), SeedProblem> {
        if self.version != SEED_SCHEMA_VERSION {
            return Err(SeedProblem::Version { found: self.version });
        }
        if self.id.is_empty() {
            return Err(SeedProblem::Empty { field: "id" });
        }
        if split_repository_name(&self.repo).is_none() {
            return Err(SeedProblem::Repository { repo: self.repo.clone() });
        }
        let commits =
            [Some(&self.base_commit), Some(&self.head_commit), self.merge_commit.as_ref()];
        for commit in commits.into_iter().flatten() {
            if commit.parse::<ObjectId>().is_err() {
                return Err(SeedProblem::Commit { commit: commit.clone() });
            }
        }
        if self.issue_text().is_empty() {
            return Err(SeedProblem::Empty { field: "issue" });
        }
        if self.oracle.is_empty() {
            return Err(SeedProblem::Empty { field: "oracle" });
        }
        let mut seen = BTreeSet::new();
        for file in &self.files {
            if !is_plain_path(&file.path) {
                return Err(SeedProblem::Path { path: file.path.clone() });
            }
            if !seen.insert(file.path.as_str()) {
                return Err(SeedProblem::Twice { path: file.path.clone() });
            }
            if (file.role == FileRole::Edit) != self.oracle.contains_key(&file.path) {
                return Err(SeedProblem::Role { path: file.path.clone() });
            }
        }
        for (path, text) in &self.oracle {
            if !is_plain_path(path) {
                return Err(SeedProblem::Path { path: path.clone() });
            }
            let old = self.files.iter().find(|file| file.path == *path);
            if old.map_or("", |file| file.text.as_str()) == text {
                return Err(SeedProblem::Unchanged { path: path.clone() });
            }
        }
        Ok(())
    }
}
