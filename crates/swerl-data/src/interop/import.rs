//! A file of instances and a folder of clones to seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rayon::prelude::*;

use super::build::{Builder, started};
use super::instance::{Instance, InstanceChange, InstanceFormat};
use crate::context::Scout;
use crate::curate::change::{Candidate, Kept, Outcome, Read, read_changes};
use crate::curate::judges::Judges;
use crate::curate::{CurateOptions, finish};
use crate::error::DataError;
use crate::filter::DropReason;
use crate::git::Repository;
use crate::git::graph::CommitGraph;
use crate::git::objects::Objects;
use crate::ids::Repositories;
use crate::note::{Notes, add_all};
use crate::progress::Progress;
use crate::report::CurateReport;
use crate::seed::SeedExample;

/// Makes seeds from the instances of a JSONL file.
///
/// The files come from the clones: at the base commit for SWE-bench, SWE-Gym and R2E-Gym; for
/// SWE-smith with the patch that makes the bug applied, so that the oracle is the text of the
/// commit. Instances were chosen by their authors: no filter by words, repository or date is
/// applied, and leaving evaluation instances out of training is the caller's business. R2E-Gym's
/// commits pass the filters by size and content. Seeds are in the usual order.
///
/// # Errors
/// If the file cannot be read, a row is no instance of the format (the line is named), or a clone
/// cannot be read at all. An instance that a clone lacks something for is dropped and counted.
///
/// # Panics
/// If the report does not add up: a fault of this crate.
pub fn import_instances(
    path: impl AsRef<Path>,
    format: InstanceFormat,
    repositories: &dyn Repositories,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let instances = read_instances(path.as_ref(), format)?;
    let mut report = CurateReport { inputs: instances.len() as u64, ..CurateReport::default() };
    let mut groups: BTreeMap<String, Vec<Instance>> = BTreeMap::new();
    for instance in instances {
        groups.entry(instance.repo.to_lowercase()).or_default().push(instance);
    }
    progress.start(report.inputs, "reading instances");
    let groups: Vec<Vec<Instance>> = groups.into_values().collect();
    let read: Vec<Result<Option<Read>, DataError>> =
        groups.par_iter().map(|group| read_group(group, repositories, options, progress)).collect();
    let mut kept = Vec::new();
    for (group, read) in groups.iter().zip(read) {
        let Some(read) = read? else {
            group.iter().for_each(|_| report.drop_one(DropReason::MissingRepository));
            continue;
        };
        report.repositories += 1;
        add_all(&mut report.notes, &read.notes);
        for outcome in read.outcomes {
            match outcome {
                Ok(seed) => kept.push(seed),
                Err(reason) => report.drop_one(reason),
            }
        }
    }
    progress.finish();
    // Instances may share a change: other tests, other words.
    let mut options = options.clone();
    options.filters.near_duplicates = None;
    Ok(finish(kept, report, &options))
}

fn read_instances(path: &Path, format: InstanceFormat) -> Result<Vec<Instance>, DataError> {
    let error = |source| DataError::Read { path: path.to_path_buf(), source };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(error)?);
    let mut instances = Vec::new();
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer).map_err(error)? == 0 {
            break;
        }
        if buffer.trim_ascii().is_empty() {
            continue;
        }
        let instance = format.read(&buffer);
        instances.push(instance.map_err(|source| DataError::Instance {
            path: path.to_path_buf(),
            line,
            source,
        })?);
    }
    Ok(instances)
}

/// The instances of one repository; `None` if there is no clone.
fn read_group(
    group: &[Instance],
    repositories: &dyn Repositories,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<Option<Read>, DataError> {
    let path = group.first().and_then(|instance| repositories.locate(&instance.repo));
    let Some(path) = path else {
        progress.advance(group.len() as u64);
        return Ok(None);
    };
    let repository = Repository::open(path)?;
    if repository.suspicions()?.outside.is_some() {
        let outcomes = group.iter().map(|_| Err(DropReason::ReachesOutside)).collect();
        return Ok(Some(Read { outcomes, notes: Notes::new() }));
    }
    let mut builder = Builder {
        repository: &repository,
        objects: Objects::open(&repository)?,
        scout: Scout::default(),
        context: options.context,
    };
    let mut read = Read::default();
    for instance in group {
        let outcome = match &instance.change {
            InstanceChange::Commit(commit) => {
                let found = of_commit(&repository, instance, commit, options, progress)?;
                add_all(&mut read.notes, &found.notes);
                found.outcomes.into_iter().next().unwrap_or(Err(DropReason::MissingCommit))
            }
            InstanceChange::Fix { .. } | InstanceChange::Bug { .. } => {
                let built = builder.patched(instance)?;
                progress.advance(1);
                built.map(|seed| Kept { seed, licences: BTreeSet::new() })
            }
        };
        read.outcomes.push(outcome);
    }
    Ok(Some(read))
}

/// An instance whose change is a commit against its first parent.
fn of_commit(
    repository: &Repository,
    instance: &Instance,
    commit: &str,
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<Read, DataError> {
    let missing = |reason: DropReason| {
        progress.advance(1);
        let outcomes: Vec<Outcome> = vec![Err(reason)];
        Ok(Read { outcomes, notes: Notes::new() })
    };
    let ends = [repository.commit(commit), repository.commit(&format!("{commit}^1"))];
    let [Ok(head), Ok(base)] = ends else { return missing(DropReason::MissingCommit) };
    let mut seed = started(instance, base);
    seed.merge_commit = Some(head.to_string());
    if seed.issue_text().is_empty() {
        return missing(DropReason::NoIssueText);
    }
    let graph = CommitGraph::load(repository, &[head, base])?;
    let candidate = Candidate { seed, base, head };
    read_changes(repository, &graph, &[candidate], options, &Judges::default(), progress)
}
