//! A lone clone to seeds: merge and squash commits of the first-parent history are its pull
//! requests, their messages the issues.
//!
//! A merge without words of its own takes the message of the oldest commit of its branch. A merge
//! whose branch holds pull requests of its own is no pull request but a long-lived branch. Commits
//! that are neither merge nor squash are dropped as direct commits, unless asked for.

use std::collections::BTreeMap;
use std::path::Path;

use super::change::{Candidate, read_changes};
use super::group::note_suspicions;
use super::judges::Judges;
use super::{CurateOptions, finish};
use crate::error::DataError;
use crate::filter::DropReason;
use crate::filter::decontaminate::{is_fork, judge_place};
use crate::filter::verdict::{Words, judge_words};
use crate::git::Repository;
use crate::git::graph::{CommitGraph, Marks};
use crate::git::objects::{Commit, Objects};
use crate::ids::{ObjectId, split_repository_name};
use crate::link::closing_links;
use crate::message::{MergeMessage, merge_message, squash_message};
use crate::note::add_all;
use crate::progress::Progress;
use crate::report::CurateReport;
use crate::seed::{IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample};
use crate::time::Timestamp;

/// How far back a branch's oldest commit is searched.
const LONGEST_BRANCH: usize = 500;

/// What of a clone is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryOptions {
    /// The branch whose first-parent history is read. Usual: `HEAD`.
    pub revision: String,
    /// `owner/name`; by default from the remote `origin`, else `local/<folder>`.
    pub name: Option<String>,
    /// Whether commits that are neither merges nor squashes count as pull requests too.
    /// Usual: no.
    pub direct_commits: bool,
}

impl Default for RepositoryOptions {
    fn default() -> Self {
        Self { revision: "HEAD".to_owned(), name: None, direct_commits: false }
    }
}

/// Makes seeds from the merge and squash commits of any local clone, bare or not.
///
/// The report's inputs are the commits of the first-parent history. The seeds are sorted by
/// merge time, then number; the same clone gives the same output.
///
/// # Errors
/// If `path` is no clone, has no commits or lacks its objects, or the given name is not
/// `owner/name`.
///
/// # Panics
/// If the report does not add up: a fault of this crate.
pub fn curate_repository(
    path: impl AsRef<Path>,
    from: &RepositoryOptions,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    curate_repository_with(path, from, options, &Judges::default(), progress)
}

/// [`curate_repository`] with models that decide where the rules only guess.
///
/// # Errors
/// As [`curate_repository`].
///
/// # Panics
/// As [`curate_repository`].
pub fn curate_repository_with(
    path: impl AsRef<Path>,
    from: &RepositoryOptions,
    options: &CurateOptions,
    judges: &Judges<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let repository = Repository::open(path)?;
    let suspicions = repository.suspicions()?;
    repository.refuse_outside(&suspicions)?;
    let tip = repository.commit(&from.revision)?;
    let name = match &from.name {
        Some(name) if split_repository_name(name).is_none() => {
            return Err(DataError::RepositoryName { name: name.clone() });
        }
        Some(name) => name.clone(),
        None => guess_name(&repository)?,
    };
    let graph = CommitGraph::load(&repository, &[tip])?;
    let line: Vec<ObjectId> = graph.first_parents(tip).collect();
    let mut reader = Reader {
        objects: Objects::open(&repository)?,
        marks: Marks::default(),
        name: &name,
        repository: &repository,
        graph: &graph,
        is_fork: is_fork(&graph.roots(), &options.filters),
        from,
        options,
        judges,
    };
    let mut report = CurateReport { repositories: 1, ..CurateReport::default() };
    note_suspicions(&suspicions, &mut report.notes);
    let mut candidates = Vec::new();
    progress.start(line.len() as u64, "reading commits");
    for ids in line.chunks(1_024) {
        for (id, commit) in ids.iter().zip(reader.objects.commits(ids)?) {
            report.inputs += 1;
            let found = match commit {
                Some(commit) => reader.judge(*id, &commit)?,
                None => Err(DropReason::MissingCommit),
            };
            match found {
                Ok(candidate) => candidates.push(candidate),
                Err(reason) => report.drop_one(reason),
            }
        }
        progress.advance(ids.len() as u64);
    }
    progress.finish();
    progress.start(candidates.len() as u64, "reading changes");
    let read = read_changes(&repository, &graph, &candidates, options, judges, progress)?;
    progress.finish();
    add_all(&mut report.notes, &read.notes);
    let mut kept = Vec::new();
    for outcome in read.outcomes {
        match outcome {
            Ok(seed) => kept.push(seed),
            Err(reason) => report.drop_one(reason),
        }
    }
    Ok(finish(kept, report, options))
}

/// `owner/name` from the address of `origin`, else `local/<folder>`.
fn guess_name(repository: &Repository) -> Result<String, DataError> {
    if let Some(address) = repository.origin()? {
        let address = address.trim_end_matches('/').trim_end_matches(".git");
        let mut parts = address.rsplit(['/', ':']);
        if let (Some(name), Some(owner)) = (parts.next(), parts.next()) {
            let full = format!("{owner}/{name}");
            if split_repository_name(&full).is_some() {
                return Ok(full);
            }
        }
    }
    let path = repository.path();
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = folder.unwrap_or_default();
    let folder = folder.trim_end_matches(".git");
    let plain: String = folder
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .collect();
    let usable = split_repository_name(&format!("local/{plain}")).is_some();
    Ok(format!("local/{}", if usable { plain.as_str() } else { "repository" }))
}

struct Reader<'a> {
    objects: Objects,
    marks: Marks,
    name: &'a str,
    repository: &'a Repository,
    graph: &'a CommitGraph,
    is_fork: bool,
    from: &'a RepositoryOptions,
    options: &'a CurateOptions,
    judges: &'a Judges<'a>,
}

impl Reader<'_> {
    /// The filters that look at one commit of the first-parent history.
    fn judge(
        &mut self,
        id: ObjectId,
        commit: &Commit,
    ) -> Result<Result<Candidate, DropReason>, DataError> {
        let parents = self.graph.parents(id).unwrap_or_default();
        let (base, head, message, author) = match parents[..] {
            [] => return Ok(Err(DropReason::DirectCommit)),
            [parent] => {
                let message = squash_message(&commit.message);
                if message.number.is_none() && !self.from.direct_commits {
                    return Ok(Err(DropReason::DirectCommit));
                }
                (parent, id, message, commit.author.clone())
            }
            [target, branch] => {
                let message = merge_message(&commit.message);
                if message.merges_target {
                    return Ok(Err(DropReason::MergeOfTarget));
                }
                let (message, author) = self.with_branch(message, target, branch)?;
                if message.merges_target {
                    return Ok(Err(DropReason::MergeOfTarget));
                }
                (target, branch, message, author)
            }
            _ => return Ok(Err(DropReason::Octopus)),
        };
        Ok(self.judge_text(&message, commit, &author).map(|()| Candidate {
            seed: self.started(id, commit, message),
            base,
            head,
        }))
    }

    fn judge_text(
        &self,
        message: &MergeMessage,
        commit: &Commit,
        author: &str,
    ) -> Result<(), DropReason> {
        let filters = &self.options.filters;
        let number = message.number.unwrap_or(0);
        let merged_at = Some(Timestamp(commit.committed));
        if let Some(reason) = judge_place(self.name, number, merged_at, filters) {
            return Err(reason);
        }
        if self.is_fork {
            return Err(DropReason::ForkOfExcluded);
        }
        let (title, body) = (message.title.as_str(), message.body.as_str());
        let words = Words { author, author_is_bot: false, title, body };
        if let Some(reason) = judge_words(&words) {
            return Err(reason);
        }
        if title.is_empty() && body.is_empty() {
            return Err(DropReason::NoIssueText);
        }
        if filters.require_bug && !self.judges.reports_bug(title, body, &[]) {
            return Err(DropReason::NotABug);
        }
        Ok(())
    }

    /// The author of a branch's last commit, and the message of a merge, taken from the branch's
    /// oldest commit if the merge has no title. Who merged does not matter: it is often a robot.
    fn with_branch(
        &mut self,
        mut message: MergeMessage,
        target: ObjectId,
        branch: ObjectId,
    ) -> Result<(MergeMessage, String), DataError> {
        if message.title.is_empty() || message.number.is_none() {
            let base = self.graph.merge_base(self.repository, target, branch, &mut self.marks)?;
            let mut own: Vec<ObjectId> =
                self.graph.first_parents(branch).take(LONGEST_BRANCH).collect();
            // The line of first parents may miss the base; then only the last commit is sure.
            let end = own.iter().position(|id| Some(*id) == base);
            own.truncate(end.unwrap_or(1));
            let commits = self.objects.commits(&own)?;
            let is_pull = |commit: &Commit| {
                let merge = merge_message(&commit.message);
                merge.number.is_some() && !merge.merges_target
            };
            message.merges_target =
                message.number.is_none() && commits.iter().flatten().any(is_pull);
            if let (true, Some(Some(oldest))) = (message.title.is_empty(), commits.last()) {
                let words = squash_message(&oldest.message);
                message.title = words.title;
                message.body = words.body;
            }
        }
        let last = self.objects.commits(&[branch])?.pop().flatten();
        Ok((message, last.map(|commit| commit.author).unwrap_or_default()))
    }

    /// The seed without its change.
    fn started(&self, id: ObjectId, commit: &Commit, message: MergeMessage) -> SeedExample {
        let id = id.to_string();
        let text = format!("{}\n\n{}", message.title, message.body);
        let own = closing_links(&text, self.name).into_iter().find(|link| link.repo.is_none());
        SeedExample {
            version: SEED_SCHEMA_VERSION,
            id: match message.number {
                Some(number) => format!("{}#{number}", self.name),
                None => format!("{}@{}", self.name, &id[..12]),
            },
            repo: self.name.to_owned(),
            pull_request: message.number.unwrap_or(0),
            base_commit: String::new(),
            head_commit: String::new(),
            merge_commit: Some(id),
            merged_at: Some(Timestamp(commit.committed).to_string()),
            issue: IssueText {
                number: own.map(|link| link.number),
                title: message.title.clone(),
                body: message.body.clone(),
                url: None,
                source: IssueSource::CommitMessage,
            },
            title: message.title,
            body: message.body,
            files: Vec::new(),
            oracle: BTreeMap::new(),
        }
    }
}
