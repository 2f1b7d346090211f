//! What happens in one repository: its files, issues and pull requests, before git sees them.
//!
//! A plan is a list of jobs in the order in which they end (merged or closed). Jobs that touch the
//! same file never overlap in time, so that every merge is clean; all others may.

mod build;
mod noise;
mod timeline;
mod tree;

pub(crate) use build::{Counts, build};
pub(crate) use timeline::slot_seconds;

use crate::template::Language;

/// A GitHub account.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) login: String,
    pub(crate) is_bot: bool,
}

/// What a job is for. All but the fix are noise to a curator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// A merged bug fix with an issue; holds the kind of bug.
    Fix(&'static str),
    /// A merged bug fix without an issue.
    NoIssue,
    /// A bug fix that was closed without a merge.
    Unmerged,
    /// A new function that an issue asked for.
    Feature,
    /// A change of documentation only.
    Docs,
    /// A change of the lock file only, by a person.
    LockFile,
    /// A version bump by a bot.
    BotBump,
    /// A commit pushed to the main branch without a pull request.
    Push,
}

impl JobKind {
    /// The name of a kind of noise; `None` for a fix.
    pub(crate) fn noise(self) -> Option<&'static str> {
        match self {
            Self::Fix(_) => None,
            Self::NoIssue => Some("no_issue"),
            Self::Unmerged => Some("unmerged"),
            Self::Feature => Some("feature"),
            Self::Docs => Some("docs_only"),
            Self::LockFile => Some("lock_file_only"),
            Self::BotBump => Some("bot_bump"),
            Self::Push => Some("direct_push"),
        }
    }

    /// Whether its change reaches the main branch.
    pub(crate) fn lands(self) -> bool {
        self != Self::Unmerged
    }

    /// Whether there is a pull request.
    pub(crate) fn has_pull_request(self) -> bool {
        self != Self::Push
    }
}

/// A file before and after a job.
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Change {
    /// Lines added and deleted, when the change is one hunk.
    pub(crate) fn line_counts(&self) -> (usize, usize) {
        let old: Vec<&str> = self.old.lines().collect();
        let new: Vec<&str> = self.new.lines().collect();
        let shorter = old.len().min(new.len());
        let head = (0..shorter).take_while(|&i| old[i] == new[i]).count();
        let tail = (0..shorter - head)
            .take_while(|&i| old[old.len() - 1 - i] == new[new.len() - 1 - i])
            .count();
        (new.len() - head - tail, old.len() - head - tail)
    }
}

/// A pull request, or a push.
pub(crate) struct Job {
    pub(crate) kind: JobKind,
    pub(crate) author: Account,
    /// Who merged or closed it.
    pub(crate) closer: Account,
    /// Its number, shared with issues; 0 for a push.
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) branch: String,
    pub(crate) labels: Vec<&'static str>,
    pub(crate) changes: Vec<Change>,
    /// The text of the first change after a first commit, when the branch has two.
    pub(crate) draft: Option<String>,
    /// The issue it closes, as an index.
    pub(crate) issue: Option<usize>,
    /// Seconds since 1970.
    pub(crate) opened: i64,
    /// When it was merged, closed or pushed, in seconds since 1970.
    pub(crate) closed: i64,
    /// Index of the commit of the main branch that the branch starts from.
    pub(crate) fork: usize,
    /// Index of the main branch's tip when it was opened.
    pub(crate) tip_at_open: usize,
    /// Index of the main branch's tip just before it was closed.
    pub(crate) tip_at_close: usize,
}

/// An issue.
pub(crate) struct Issue {
    pub(crate) author: Account,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: Vec<&'static str>,
    /// A comment: author, text and time.
    pub(crate) comment: Option<(Account, String, i64)>,
    pub(crate) opened: i64,
    pub(crate) closed: Option<i64>,
}

/// A function's template and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FunctionRecord {
    /// The template it was made from, with its language ("Python/average").
    pub template: String,
    /// Its name.
    pub name: String,
}

/// All of a repository.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) held_out: bool,
    pub(crate) created: i64,
    /// Who made the first commit.
    pub(crate) owner: Account,
    /// Path and text of every file in the first commit.
    pub(crate) initial: Vec<(String, String)>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) issues: Vec<Issue>,
    /// Who starred it, and when.
    pub(crate) stars: Vec<(Account, i64)>,
    pub(crate) functions: Vec<FunctionRecord>,
    /// Final texts of the source files, and of the buggy ones they came from.
    pub(crate) sources: Vec<String>,
    /// How many source files there are, constants aside.
    pub(crate) source_files: usize,
}

impl Plan {
    /// How many merged bug fixes with an issue there are.
    pub(crate) fn fixes(&self) -> usize {
        self.jobs.iter().filter(|job| job.kind.noise().is_none()).count()
    }
}
