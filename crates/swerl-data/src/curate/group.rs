//! The pull requests of one repository, from the commits that events name to their changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::CurateOptions;
use super::change::{Candidate, Outcome, Read, read_changes};
use super::events::{Asked, issue_of};
use super::judges::Judges;
use crate::error::DataError;
use crate::filter::DropReason;
use crate::filter::decontaminate::is_fork;
use crate::fold::Fold;
use crate::git::Repository;
use crate::git::graph::{CommitGraph, Marks};
use crate::git::objects::{Commit, ObjectKind, Objects};
use crate::ids::{ObjectId, Repositories};
use crate::link::{LinkSource, LinkedIssues};
use crate::message::squash_message;
use crate::note::{Note, Notes, count};
use crate::progress::Progress;
use crate::pull_request::{Issue, PullRequest};
use crate::seed::{IssueText, SEED_SCHEMA_VERSION, SeedExample};

/// Commits of a branch whose messages are read; GitHub lists as many of a pull request.
const MOST_COMMITS: usize = 250;

/// A pull request that passed the filters that need no git, with its issue if that is known yet.
pub(super) type Member<'a> = (&'a PullRequest, Option<Asked>);

/// Where the issues are that pull requests link.
pub(super) trait Issues: Sync {
    /// The issue `number` of `repo` (any case), if anything was seen of it.
    fn find(&self, repo: &str, number: u64) -> Result<Option<Cow<'_, Issue>>, DataError>;
}

impl Issues for Fold {
    fn find(&self, repo: &str, number: u64) -> Result<Option<Cow<'_, Issue>>, DataError> {
        Ok(self.issue(repo, number).map(Cow::Borrowed))
    }
}

/// What all groups share.
pub(super) struct Shared<'a> {
    pub(super) issues: &'a dyn Issues,
    pub(super) repositories: &'a dyn Repositories,
    pub(super) options: &'a CurateOptions,
    pub(super) judges: &'a Judges<'a>,
    pub(super) progress: &'a dyn Progress,
}

/// All pull requests of one repository that passed the filters that need no git.
pub(super) fn curate_group(group: &[Member<'_>], shared: &Shared<'_>) -> Result<Read, DataError> {
    let all = |reason: DropReason, notes: Notes| {
        shared.progress.advance(group.len() as u64);
        Ok(Read { outcomes: group.iter().map(|_| Err(reason)).collect(), notes })
    };
    let path = group.first().and_then(|(pull, _)| shared.repositories.locate(&pull.repo));
    let Some(path) = path else { return all(DropReason::MissingRepository, Notes::new()) };
    let repository = Repository::open(path)?;
    let mut notes = Notes::new();
    let suspicions = repository.suspicions()?;
    note_suspicions(&suspicions, &mut notes);
    if suspicions.outside.is_some() {
        return all(DropReason::ReachesOutside, notes);
    }
    let mut objects = Objects::open(&repository)?;
    let clone = KnownCommits::look_up(&repository, &mut objects, group)?;
    if is_fork(&clone.graph.roots(), &shared.options.filters) {
        return all(DropReason::ForkOfExcluded, notes);
    }
    let mut marks = Marks::default();
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(group.len());
    let mut candidates = Vec::new();
    for (pull, asked) in group {
        let ends = clone.ends(pull);
        let asked = match (asked, ends) {
            (Some(asked), _) => Ok(asked.clone()),
            (None, None) => Err(DropReason::NoLinkedIssue),
            (None, Some((base, head))) => {
                let mut commits = clone.graph.between(base, head, MOST_COMMITS, &mut marks);
                commits.extend(pull.merge_commit.as_deref().and_then(parse_id));
                let mut links = LinkedIssues::default();
                // The oldest first, as people read them.
                for commit in objects.commits(&commits)?.iter().rev().flatten() {
                    links.add(&commit.message, &pull.repo, LinkSource::Commit);
                }
                issue_of(pull, &links, shared)?
            }
        };
        let outcome = match (asked, ends) {
            (Err(reason), _) => Err(reason),
            (Ok(_), None) => Err(DropReason::MissingCommit),
            (Ok(asked), Some((base, head))) => {
                asked.notes.iter().for_each(|note| count(&mut notes, *note));
                candidates.push(Candidate { seed: started(pull, &asked.issue), base, head });
                outcomes.push(None);
                continue;
            }
        };
        outcomes.push(Some(outcome));
        shared.progress.advance(1);
    }
    let read = read_changes(
        &repository,
        &clone.graph,
        &candidates,
        shared.options,
        shared.judges,
        shared.progress,
    )?;
    crate::note::add_all(&mut notes, &read.notes);
    let mut read = read.outcomes.into_iter();
    let outcomes = outcomes.into_iter().filter_map(|outcome| outcome.or_else(|| read.next()));
    Ok(Read { outcomes: outcomes.collect(), notes })
}

/// Counts what a clone would make git run.
pub(super) fn note_suspicions(found: &crate::git::hostile::Suspicions, notes: &mut Notes) {
    if !found.commands.is_empty() {
        count(notes, Note::ConfiguredCommand);
    }
    if !found.hooks.is_empty() {
        count(notes, Note::Hook);
    }
}

/// The seed without its change.
fn started(pull: &PullRequest, issue: &IssueText) -> SeedExample {
    SeedExample {
        version: SEED_SCHEMA_VERSION,
        id: format!("{}#{}", pull.repo, pull.number),
        repo: pull.repo.clone(),
        pull_request: pull.number,
        base_commit: String::new(),
        head_commit: String::new(),
        merge_commit: pull.merge_commit.clone(),
        merged_at: pull.merged_at.map(|at| at.to_string()),
        title: pull.title.clone().unwrap_or_default(),
        body: pull.body.clone(),
        issue: issue.clone(),
        files: Vec::new(),
        oracle: BTreeMap::new(),
    }
}

/// What a clone knows of the commits that the events name.
struct KnownCommits {
    present: HashSet<ObjectId>,
    merges: HashMap<ObjectId, Commit>,
    graph: CommitGraph,
}

fn parse_id(text: &str) -> Option<ObjectId> {
    text.parse().ok()
}

impl KnownCommits {
    fn look_up(
        repository: &Repository,
        objects: &mut Objects,
        group: &[Member<'_>],
    ) -> Result<Self, DataError> {
        let mut asked: Vec<ObjectId> = group
            .iter()
            .flat_map(|(pull, _)| [Some(&pull.base), Some(&pull.head), pull.merge_commit.as_ref()])
            .filter_map(|text| parse_id(text?))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let infos = objects.info(&asked)?;
        let is_commit = |info: &Option<(ObjectKind, u64)>| {
            info.is_some_and(|(kind, _)| kind == ObjectKind::Commit)
        };
        let found = asked.iter().zip(&infos).filter(|(_, info)| is_commit(info));
        let tips: Vec<ObjectId> = found.map(|(id, _)| *id).collect();
        if tips.is_empty() {
            // Nothing at all: tell an empty or gutted clone from one that lacks these commits.
            repository.commit("HEAD")?;
        }
        let merge_ids: Vec<ObjectId> =
            group.iter().filter_map(|(pull, _)| parse_id(pull.merge_commit.as_ref()?)).collect();
        let commits = objects.commits(&merge_ids)?;
        let merges = merge_ids.into_iter().zip(commits);
        Ok(Self {
            graph: CommitGraph::load(repository, &tips)?,
            present: tips.into_iter().collect(),
            merges: merges.filter_map(|(id, commit)| Some((id, commit?))).collect(),
        })
    }

    /// The target branch's commit just before the merge, and the proposed branch's last commit.
    ///
    /// The merge commit tells the former exactly; the event's base may be as old as the pull
    /// request. It also stands in for a head that the clone lacks, as the heads of squashed
    /// branches are not part of a plain clone.
    fn ends(&self, pull: &PullRequest) -> Option<(ObjectId, ObjectId)> {
        let present = |text: &str| parse_id(text).filter(|id| self.present.contains(id));
        let head = present(&pull.head);
        let merge = pull.merge_commit.as_deref().and_then(present);
        let parents = merge.and_then(|merge| self.graph.parents(merge)).unwrap_or_default();
        match (parents.as_slice(), merge, head) {
            ([before, merged], _, None) => Some((*before, *merged)),
            ([before, merged], _, Some(head)) if *merged == head => Some((*before, head)),
            ([before], Some(merge), head) if self.is_squash_of(merge, pull.number) => {
                Some((*before, head.unwrap_or(merge)))
            }
            (_, _, Some(head)) => Some((present(&pull.base)?, head)),
            _ => None,
        }
    }

    fn is_squash_of(&self, merge: ObjectId, number: u64) -> bool {
        let commit = self.merges.get(&merge);
        commit.is_some_and(|commit| squash_message(&commit.message).number == Some(number))
    }
}
