//! When things happen: closing times, opening times, fork points and numbers.
//!
//! Job `i` of a repository ends in slot `i` of equal slots. Half of the pull requests are opened
//! within the slot of their end; the others one to four slots earlier, so that the main branch moves
//! on in between. One in five forks from a commit that was already old when it was opened.

use std::collections::BTreeMap;

use super::{Issue, Job};
use crate::random::Stream;

/// 2024-03-04T00:00:00Z, a Monday: the first hour of every corpus.
pub(crate) const START: i64 = 1_709_510_400;
/// Seconds of a job's slot, at least.
const LEAST_SLOT: i64 = 1_200;
/// Seconds between a repository's first commit and its first slot.
const LEAD: i64 = 4 * 3_600;

/// Seconds of a job's slot when the busiest repository has `jobs` jobs: at least a day in all.
pub(crate) fn slot_seconds(jobs: usize) -> i64 {
    let jobs = i64::try_from(jobs.max(1)).expect("a count of jobs fits");
    LEAST_SLOT.max(18 * 3_600 / jobs)
}

/// Sets times, fork points and numbers of all jobs and issues.
pub(super) fn schedule(jobs: &mut [Job], issues: &mut [Issue], slot: i64, stream: &mut Stream) {
    let first = START + LEAD;
    for (index, job) in jobs.iter_mut().enumerate() {
        let index = i64::try_from(index).expect("a count of jobs fits");
        job.closed = first + index * slot + slot / 2 + stream.seconds(0, slot / 3);
    }
    // For every path, when it last changed and the commit that did it.
    let mut touched: BTreeMap<String, (i64, usize)> = BTreeMap::new();
    let mut landed: Vec<i64> = vec![START];
    for job in jobs.iter_mut() {
        let last = job.changes.iter().filter_map(|change| touched.get(&change.path)).max().copied();
        let (last_time, last_commit) = last.unwrap_or((START, 0));
        let lag = if stream.chance(50) { 0 } else { stream.seconds(1, 5) };
        let wanted = job.closed - lag * slot - stream.seconds(slot / 10, slot / 3);
        job.opened = wanted.max(last_time + slot / 20).max(START + 3_600);
        if !job.kind.has_pull_request() {
            job.opened = job.closed;
        }
        job.tip_at_open = landed.partition_point(|&time| time <= job.opened) - 1;
        job.tip_at_close = landed.len() - 1;
        let stale = if stream.chance(20) { 1 + stream.below(3) } else { 0 };
        job.fork = job.tip_at_open.saturating_sub(stale).max(last_commit);
        if job.kind.lands() {
            for change in &job.changes {
                touched.insert(change.path.clone(), (job.closed, landed.len()));
            }
            landed.push(job.closed);
        }
    }
    time_issues(jobs, issues, slot, stream);
    number(jobs, issues);
}

fn time_issues(jobs: &[Job], issues: &mut [Issue], slot: i64, stream: &mut Stream) {
    // An issue comes before the first pull request that names it.
    let mut first: Vec<i64> = vec![i64::MAX; issues.len()];
    for job in jobs {
        if let Some(index) = job.issue {
            first[index] = first[index].min(job.opened);
        }
    }
    for (issue, &first) in issues.iter_mut().zip(&first) {
        let wanted = first - stream.seconds(slot / 10, 2 * slot);
        issue.opened = wanted.clamp(START + 600, first - 60);
    }
    for job in jobs {
        let Some(issue) = job.issue.map(|index| &mut issues[index]) else { continue };
        if let Some((_, _, time)) = &mut issue.comment {
            *time = issue.opened + stream.seconds(10, (job.closed - issue.opened).max(11));
        }
        if job.kind.lands() {
            issue.closed = Some(job.closed + 1);
        }
    }
}

/// Numbers issues and pull requests together, by opening time.
fn number(jobs: &mut [Job], issues: &mut [Issue]) {
    let numbered_jobs = jobs.iter_mut().filter(|job| job.kind.has_pull_request());
    let mut all: Vec<(i64, &mut u64)> = issues
        .iter_mut()
        .map(|issue| (issue.opened, &mut issue.number))
        .chain(numbered_jobs.map(|job| (job.opened, &mut job.number)))
        .collect();
    all.sort_by_key(|(opened, _)| *opened);
    for (slot, number) in all.into_iter().map(|(_, slot)| slot).zip(1..) {
        *slot = number;
    }
}
