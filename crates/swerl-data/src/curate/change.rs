//! From two commits to the files at their merge base and the texts after the change.
//!
//! All candidates of a repository go through few git processes: merge bases come from the graph
//! in memory, path differences from one `diff-tree`, contents from one pair of `cat-file`, each
//! per chunk of candidates; chunks run in parallel.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::CurateOptions;
use crate::context::{NotText, related_files, text_of};
use crate::error::DataError;
use crate::filter::{DropReason, size, version};
use crate::git::Repository;
use crate::git::changes::{Change, for_each_change};
use crate::git::graph::{CommitGraph, Marks};
use crate::git::objects::{ObjectKind, Objects};
use crate::ids::ObjectId;
use crate::language::{is_lock_file, is_programming_file, is_test_file};
use crate::progress::Progress;
use crate::seed::{ContextFile, FileRole, SeedExample, is_plain_path};

/// Candidates that share their git processes.
const CHUNK: usize = 512;

/// A pull request that passed all filters that need no git.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Complete but for `base_commit`, `head_commit`, `files`, `oracle`.
    pub(crate) seed: SeedExample,
    /// The target branch before the merge.
    pub(crate) base: ObjectId,
    /// The end of the proposed branch.
    pub(crate) head: ObjectId,
}

/// What became of a candidate.
pub(crate) type Outcome = Result<SeedExample, DropReason>;

/// A changed path with valid name: old and new blob.
struct FileChange {
    path: String,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

/// Reads the changes of all candidates; the outcomes are in their order.
pub(crate) fn read_changes(
    repository: &Repository,
    graph: &CommitGraph,
    candidates: &[Candidate],
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, DataError> {
    let chunks: Vec<Result<Vec<Outcome>, DataError>> = candidates
        .par_chunks(CHUNK)
        .map(|chunk| read_chunk(repository, graph, chunk, options, progress))
        .collect();
    let mut outcomes = Vec::with_capacity(candidates.len());
    for chunk in chunks {
        outcomes.extend(chunk?);
    }
    Ok(outcomes)
}

fn read_chunk(
    repository: &Repository,
    graph: &CommitGraph,
    candidates: &[Candidate],
    options: &CurateOptions,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, DataError> {
    let mut marks = Marks::default();
    let mut bases = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        bases.push(graph.merge_base(repository, candidate.base, candidate.head, &mut marks)?);
    }
    let known = bases.iter().zip(candidates).enumerate();
    let (numbers, pairs): (Vec<usize>, Vec<_>) = known
        .filter_map(|(number, (base, candidate))| Some((number, ((*base)?, candidate.head))))
        .unzip();
    let mut changes: Vec<Result<Vec<FileChange>, DropReason>> =
        candidates.iter().map(|_| Err(DropReason::UnrelatedHistories)).collect();
    for_each_change(repository, &pairs, |at, found| {
        changes[numbers[at]] = select(found, options);
    })?;
    let mut objects = Objects::open(repository)?;
    let mut outcomes = Vec::with_capacity(candidates.len());
    for ((candidate, base), change) in candidates.iter().zip(bases).zip(changes) {
        outcomes.push(match (base, change) {
            (Some(base), Ok(files)) => read_one(&mut objects, candidate, base, &files, options)?,
            (_, Err(reason)) => Err(reason),
            (None, Ok(_)) => Err(DropReason::UnrelatedHistories),
        });
        progress.advance(1);
    }
    Ok(outcomes)
}

/// The filters that look at paths and modes alone.
fn select(changes: Vec<Change>, options: &CurateOptions) -> Result<Vec<FileChange>, DropReason> {
    let is_file =
        |side: &Option<(u32, ObjectId)>| side.is_none_or(|(mode, _)| mode & 0o170_000 == 0o100_000);
    let id = |side: Option<(u32, ObjectId)>| side.map(|(_, id)| id);
    // A changed executable bit is no changed text.
    let mode_only = |change: &Change| {
        is_file(&change.old) && is_file(&change.new) && id(change.old) == id(change.new)
    };
    let changes: Vec<Change> = changes.into_iter().filter(|change| !mode_only(change)).collect();
    if changes.is_empty() {
        return Err(DropReason::EmptyChange);
    }
    if changes.len() > options.filters.max_files {
        return Err(DropReason::TooManyFiles);
    }
    let mut files = Vec::with_capacity(changes.len());
    for change in &changes {
        let path = std::str::from_utf8(&change.path).ok().filter(|path| is_plain_path(path));
        let path = path.ok_or(DropReason::UnusualPath)?.to_owned();
        files.push(FileChange { path, old: id(change.old), new: id(change.new) });
    }
    if !changes.iter().all(|change| is_file(&change.old) && is_file(&change.new)) {
        return Err(DropReason::SpecialFile);
    }
    if files.iter().all(|file| is_lock_file(&file.path)) {
        return Err(DropReason::LockFilesOnly);
    }
    if !files.iter().any(|file| is_programming_file(&file.path)) {
        return Err(DropReason::NoProgrammingFile);
    }
    if !files.iter().any(|file| is_programming_file(&file.path) && !is_test_file(&file.path)) {
        return Err(DropReason::TestsOnly);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Reads the texts of one candidate, filters by them, adds related files.
fn read_one(
    objects: &mut Objects,
    candidate: &Candidate,
    base: ObjectId,
    files: &[FileChange],
    options: &CurateOptions,
) -> Result<Outcome, DataError> {
    let texts = match read_texts(objects, files, options)? {
        Ok(texts) => texts,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut seed = candidate.seed.clone();
    let mut changed_lines = 0;
    for (file, (old, new)) in files.iter().zip(&texts) {
        let (before, after) = (old.as_deref().unwrap_or(""), new.as_deref().unwrap_or(""));
        if before == after {
            // An empty file that comes or goes: no text changes.
            continue;
        }
        changed_lines += size::changed_lines(before, after);
        if old.is_some() {
            let (path, text) = (file.path.clone(), before.to_owned());
            seed.files.push(ContextFile { path, role: FileRole::Edit, text });
        }
        seed.oracle.insert(file.path.clone(), after.to_owned());
    }
    if seed.oracle.is_empty() {
        return Ok(Err(DropReason::EmptyChange));
    }
    if changed_lines > options.filters.max_changed_lines {
        return Ok(Err(DropReason::TooLarge));
    }
    let all = files.iter().zip(&texts).map(|(file, (old, new))| {
        (file.path.as_str(), old.as_deref().unwrap_or(""), new.as_deref().unwrap_or(""))
    });
    if version::all_version_bumps(all) {
        return Ok(Err(DropReason::VersionBumpOnly));
    }
    if options.context.max_files > 0 {
        let Some(Some(commit)) = objects.commits(&[base])?.pop() else {
            return Ok(Err(DropReason::MissingCommit));
        };
        let changed: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
        let issue = seed.issue_text();
        let related =
            related_files(objects, commit.tree, &changed, &seed.files, &issue, options.context)?;
        seed.files.extend(related);
    }
    seed.base_commit = base.to_string();
    seed.head_commit = candidate.head.to_string();
    debug_assert_eq!(seed.validate(), Ok(()), "a curated seed keeps the schema's invariants");
    Ok(Ok(seed))
}

type Texts = Vec<(Option<String>, Option<String>)>;

/// Old and new text of every file, after the filters that look at sizes and bytes.
fn read_texts(
    objects: &mut Objects,
    files: &[FileChange],
    options: &CurateOptions,
) -> Result<Result<Texts, DropReason>, DataError> {
    let ids: Vec<ObjectId> = files.iter().flat_map(|file| [file.old, file.new]).flatten().collect();
    let mut infos = objects.info(&ids)?.into_iter();
    let (mut old_bytes, mut new_bytes) = (0_u64, 0_u64);
    for file in files {
        for (side, total) in [(file.old, &mut old_bytes), (file.new, &mut new_bytes)] {
            if side.is_some() {
                match infos.next().flatten() {
                    Some((ObjectKind::Blob, bytes)) => *total = total.saturating_add(bytes),
                    _ => return Ok(Err(DropReason::MissingObject)),
                }
            }
        }
    }
    if old_bytes.max(new_bytes) > options.filters.max_bytes {
        return Ok(Err(DropReason::TooLarge));
    }
    let mut contents = objects.read(&ids)?.into_iter();
    let mut next = |side: Option<ObjectId>| match side {
        None => Ok(None),
        Some(_) => match contents.next().flatten() {
            None => Err(DropReason::MissingObject),
            Some((_, bytes)) => text_of(bytes).map(Some).map_err(|problem| match problem {
                NotText::Binary => DropReason::BinaryFile,
                NotText::NonUtf8 => DropReason::NonUtf8,
            }),
        },
    };
    Ok(files.iter().map(|file| Ok((next(file.old)?, next(file.new)?))).collect())
}
