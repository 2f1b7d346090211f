//! Events and clones to seeds.
//!
//! Event files are read in parallel and folded; pull requests are judged by their texts, then,
//! repository by repository, by their changes. An issue's text is taken as it stood when the
//! pull request was opened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rayon::prelude::*;

use super::change::{Candidate, Outcome, read_changes};
use super::{CurateOptions, finish};
use crate::error::DataError;
use crate::event::gharchive::{event_files, read_events};
use crate::filter::{DropReason, author, bug};
use crate::fold::Fold;
use crate::git::Repository;
use crate::git::graph::CommitGraph;
use crate::git::objects::{Commit, ObjectKind, Objects};
use crate::ids::{ObjectId, Repositories};
use crate::link::closing_links;
use crate::message::squash_message;
use crate::progress::Progress;
use crate::pull_request::PullRequest;
use crate::report::CurateReport;
use crate::seed::{IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample};

/// Event files read between two merges of their folds; bounds memory.
const FILES_AT_ONCE: usize = 32;

/// Makes seeds from all merged bug-fix pull requests in a folder of hourly `*.json.gz` files.
///
/// `repositories` finds the local clone of each repository. The seeds are sorted by merge time,
/// then repository, then number; the same input gives the same output.
///
/// # Errors
/// If an events file is damaged, there is none, or a clone cannot be read at all. A pull request
/// whose commits or contents a clone lacks is dropped and counted instead.
///
/// # Panics
/// If the report does not add up: a fault of this crate.
pub fn curate_events(
    events: impl AsRef<Path>,
    repositories: &dyn Repositories,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let mut report = CurateReport::default();
    let fold = read_all(events.as_ref(), &mut report, progress)?;

    let mut groups: BTreeMap<String, Vec<(&PullRequest, IssueText)>> = BTreeMap::new();
    for pull in fold.pull_requests() {
        report.inputs += 1;
        match judge(pull, &fold, repositories, options) {
            Ok(issue) => groups.entry(pull.repo.to_lowercase()).or_default().push((pull, issue)),
            Err(reason) => report.drop_one(reason),
        }
    }
    report.repositories = groups.len() as u64;
    progress.start(groups.values().map(|group| group.len() as u64).sum(), "reading changes");
    let groups: Vec<_> = groups.into_values().collect();
    let outcomes: Vec<Result<Vec<Outcome>, DataError>> = groups
        .into_par_iter()
        .map(|group| curate_group(&group, repositories, options, progress))
        .collect();
    let mut seeds = Vec::new();
    for group in outcomes {
        for outcome in group? {
            match outcome {
                Ok(seed) => seeds.push(seed),
                Err(reason) => report.drop_one(reason),
            }
        }
    }
    progress.finish();
    Ok(finish(seeds, report))
}

fn read_all(
    folder: &Path,
    report: &mut CurateReport,
    progress: &dyn Progress,
) -> Result<Fold, DataError> {
    let files = event_files(folder)?;
    progress.start(files.len() as u64, "reading events");
    let mut all = Fold::default();
    for batch in files.chunks(FILES_AT_ONCE) {
        let folds: Vec<Result<(Fold, u64), DataError>> = batch
            .par_iter()
            .map(|file| {
                let mut fold = Fold::default();
                let lines = read_events(file, |event| fold.add(event))?;
                progress.advance(1);
                Ok((fold, lines))
            })
            .collect();
        for fold in folds {
            let (fold, lines) = fold?;
            report.event_files += 1;
            report.events += lines;
            all.merge(fold);
        }
    }
    progress.finish();
    Ok(all)
}

/// The filters that need no git; the issue if all are passed.
fn judge(
    pull: &PullRequest,
    fold: &Fold,
    repositories: &dyn Repositories,
    options: &CurateOptions,
) -> Result<IssueText, DropReason> {
    if !pull.merged {
        return Err(DropReason::Unmerged);
    }
    let title = pull.title.as_deref().ok_or(DropReason::SlimPayload)?;
    if options.filters.excludes(&pull.repo) {
        return Err(DropReason::ExcludedRepository);
    }
    if repositories.locate(&pull.repo).is_none() {
        return Err(DropReason::MissingRepository);
    }
    if author::is_automated(&pull.author, pull.author_is_bot, title, &pull.body) {
        return Err(DropReason::Bot);
    }
    if author::is_revert(title) {
        return Err(DropReason::Revert);
    }
    let mut links = closing_links(&format!("{title}\n\n{}", pull.body), &pull.repo);
    if links.is_empty() {
        return Err(DropReason::NoLinkedIssue);
    }
    // Issues of the same repository first; the sort is stable.
    links.sort_by_key(|link| link.repo.is_some());
    let mut reason = DropReason::IssueUnknown;
    for link in links {
        let repo = link.repo.as_deref().unwrap_or(&pull.repo);
        let Some(issue) = fold.issue(repo, link.number) else { continue };
        let Some(text) = issue.text_at(pull.created_at) else { continue };
        if text.title.trim().is_empty() && text.body.trim().is_empty() {
            reason = DropReason::NoIssueText;
            continue;
        }
        let require_bug = options.filters.require_bug;
        if require_bug && !bug::reports_bug(&text.title, &text.body, issue.last_labels()) {
            reason = DropReason::NotABug;
            continue;
        }
        return Ok(IssueText {
            number: Some(link.number),
            title: text.title.clone(),
            body: text.body.clone(),
            url: text.url.clone(),
            source: IssueSource::LinkedIssue,
        });
    }
    Err(reason)
}

/// All pull requests of one repository that passed [`judge`].
fn curate_group(
    group: &[(&PullRequest, IssueText)],
    repositories: &dyn Repositories,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, DataError> {
    let path = group.first().and_then(|(pull, _)| repositories.locate(&pull.repo));
    let Some(path) = path else {
        return Ok(group.iter().map(|_| Err(DropReason::MissingRepository)).collect());
    };
    let repository = Repository::open(path)?;
    let mut objects = Objects::open(&repository)?;
    let clone = KnownCommits::look_up(&repository, &mut objects, group)?;

    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(group.len());
    let mut candidates = Vec::new();
    for (pull, issue) in group {
        match clone.ends(pull) {
            Some((base, head)) => {
                candidates.push(Candidate { seed: started(pull, issue), base, head });
                outcomes.push(None);
            }
            None => {
                outcomes.push(Some(Err(DropReason::MissingCommit)));
                progress.advance(1);
            }
        }
    }
    let read = read_changes(&repository, &clone.graph, &candidates, options, progress)?;
    let mut read = read.into_iter();
    Ok(outcomes.into_iter().filter_map(|outcome| outcome.or_else(|| read.next())).collect())
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
        group: &[(&PullRequest, IssueText)],
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
