//! Events and clones to seeds.
//!
//! Event files are read in parallel and folded; pull requests are judged by their texts, then,
//! repository by repository, by their changes. An issue's text is taken as it stood when the
//! pull request was opened.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;

use super::change::{Kept, Read};
use super::comments::with_comments;
use super::group::{Member, Shared, curate_group};
use super::judges::Judges;
use super::{CurateOptions, finish};
use crate::error::DataError;
use crate::event::gharchive::{event_files, read_events};
use crate::filter::DropReason;
use crate::filter::decontaminate::judge_place;
use crate::filter::verdict::{Words, judge_words};
use crate::fold::Fold;
use crate::ids::Repositories;
use crate::link::{LinkSource, LinkedIssues, linked_issues};
use crate::note::{Note, add_all};
use crate::progress::Progress;
use crate::pull_request::PullRequest;
use crate::report::CurateReport;
use crate::seed::{IssueSource, IssueText, SeedExample};

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
    curate_events_with(events, repositories, options, &Judges::default(), progress)
}

/// [`curate_events`] with models that decide where the rules only guess.
///
/// # Errors
/// As [`curate_events`].
///
/// # Panics
/// As [`curate_events`].
pub fn curate_events_with(
    events: impl AsRef<Path>,
    repositories: &dyn Repositories,
    options: &CurateOptions,
    judges: &Judges<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let mut report = CurateReport::default();
    let fold = read_all(events.as_ref(), &mut report, progress)?;
    let shared = Shared { issues: &fold, repositories, options, judges, progress };
    let kept = curate_pulls(fold.pull_requests(), &shared, &mut report)?;
    Ok(finish(kept, report, options))
}

/// Judges pull requests and reads the changes of those that pass; what is dropped is counted.
pub(super) fn curate_pulls<'a>(
    pulls: impl Iterator<Item = &'a PullRequest>,
    shared: &Shared<'_>,
    report: &mut CurateReport,
) -> Result<Vec<Kept>, DataError> {
    let progress = shared.progress;
    let mut groups: BTreeMap<String, Vec<Member<'_>>> = BTreeMap::new();
    for pull in pulls {
        report.inputs += 1;
        match judge(pull, shared)? {
            Ok(asked) => groups.entry(pull.repo.to_lowercase()).or_default().push((pull, asked)),
            Err(reason) => report.drop_one(reason),
        }
    }
    report.repositories += groups.len() as u64;
    progress.start(groups.values().map(|group| group.len() as u64).sum(), "reading changes");
    let groups: Vec<_> = groups.into_values().collect();
    let read: Vec<Result<Read, DataError>> =
        groups.into_par_iter().map(|group| curate_group(&group, shared)).collect();
    let mut kept = Vec::new();
    for group in read {
        let group = group?;
        add_all(&mut report.notes, &group.notes);
        for outcome in group.outcomes {
            match outcome {
                Ok(seed) => kept.push(seed),
                Err(reason) => report.drop_one(reason),
            }
        }
    }
    progress.finish();
    Ok(kept)
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

/// The issue of a pull request, and what is unusual about the link.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) issue: IssueText,
    pub(super) notes: Vec<Note>,
}

/// The filters that need no git. The issue if all are passed and the words name it; `None` where
/// only a commit's message can.
fn judge(
    pull: &PullRequest,
    shared: &Shared<'_>,
) -> Result<Result<Option<Asked>, DropReason>, DataError> {
    let links = match judge_pull(pull, shared) {
        Ok(links) => links,
        Err(reason) => return Ok(Err(reason)),
    };
    if links.is_empty() {
        return Ok(Ok(None));
    }
    Ok(issue_of(pull, &links, shared)?.map(Some))
}

/// The issues that the words of a pull request link, if it passes the filters that look at it alone.
fn judge_pull(pull: &PullRequest, shared: &Shared<'_>) -> Result<LinkedIssues, DropReason> {
    if !pull.merged {
        return Err(DropReason::Unmerged);
    }
    let title = pull.title.as_deref().ok_or(DropReason::SlimPayload)?;
    let filters = &shared.options.filters;
    if let Some(reason) = judge_place(&pull.repo, pull.number, pull.merged_at, filters) {
        return Err(reason);
    }
    if shared.repositories.locate(&pull.repo).is_none() {
        return Err(DropReason::MissingRepository);
    }
    let (author, author_is_bot) = (pull.author.as_str(), pull.author_is_bot);
    let words = Words { author, author_is_bot, title, body: &pull.body };
    if let Some(reason) = judge_words(&words) {
        return Err(reason);
    }
    Ok(linked_issues(&pull.repo, title, &pull.body, []))
}

/// The first linked issue that reports a bug, those of the same repository before others, with
/// its text as it stood when the pull request was opened.
pub(super) fn issue_of(
    pull: &PullRequest,
    links: &LinkedIssues,
    shared: &Shared<'_>,
) -> Result<Result<Asked, DropReason>, DataError> {
    if links.is_empty() {
        return Ok(Err(DropReason::NoLinkedIssue));
    }
    let own = links.own.iter().map(|(number, source)| (pull.repo.as_str(), *number, *source));
    let elsewhere = links.elsewhere.iter();
    let elsewhere = elsewhere.map(|(repo, number, source)| (repo.as_str(), *number, *source));
    let mut reason = DropReason::IssueUnknown;
    for (repo, number, source) in own.chain(elsewhere) {
        let Some(issue) = shared.issues.find(repo, number)? else { continue };
        let Some(text) = issue.text_at(pull.created_at) else { continue };
        if text.title.trim().is_empty() && text.body.trim().is_empty() {
            reason = DropReason::NoIssueText;
            continue;
        }
        let options = shared.options;
        let labels = issue.last_labels();
        if options.filters.require_bug
            && !shared.judges.reports_bug(&text.title, &text.body, labels)
        {
            reason = DropReason::NotABug;
            continue;
        }
        let comments = issue.comments_at(pull.created_at);
        let (body, any) = with_comments(&text.body, &comments, options.comments);
        let notes = [
            (Note::LinkInCommit, source == LinkSource::Commit),
            (Note::CrossRepositoryLink, !links.elsewhere.is_empty()),
            (Note::IssueComments, any),
        ];
        let asked = Asked {
            issue: IssueText {
                number: Some(number),
                title: text.title.clone(),
                body,
                url: text.url.clone(),
                source: IssueSource::LinkedIssue,
            },
            notes: notes.into_iter().filter(|(_, holds)| *holds).map(|(note, _)| note).collect(),
        };
        return Ok(Ok(asked));
    }
    Ok(Err(reason))
}
