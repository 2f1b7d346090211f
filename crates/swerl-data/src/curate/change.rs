//! From two commits to the files at their merge base and the texts after the change.
//!
//! All candidates of a repository go through few git processes: merge bases come from the graph
//! in memory, path differences from one `diff-tree`, contents from one pair of `cat-file`, each
//! per chunk of candidates; chunks run in parallel.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::CurateOptions;
use super::check::{case_collisions, round_trips};
use super::judges::Judges;
use super::licences::Licences;
use super::texts::{FileChange, Texts, moved, read_texts, select};
use serde::{Deserialize, Serialize};

use crate::context::{Scout, Surroundings};
use crate::error::DataError;
use crate::filter::hunk::ChangedFile;
use crate::filter::{DropReason, licence, verdict};
use crate::git::Repository;
use crate::git::changes::for_each_change;
use crate::git::graph::{CommitGraph, Marks};
use crate::git::objects::Objects;
use crate::ids::ObjectId;
use crate::note::{Note, Notes, count};
use crate::progress::Progress;
use crate::seed::{ContextFile, FileRole, SeedExample};

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

/// A seed and the licences of its repository at that time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) seed: SeedExample,
    pub(crate) licences: BTreeSet<String>,
}

/// What became of a candidate.
pub(crate) type Outcome = Result<Kept, DropReason>;

/// What became of many, in their order, and what was unusual about them.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) notes: Notes,
}

/// Reads the changes of all candidates; the outcomes are in their order.
pub(crate) fn read_changes(
    repository: &Repository,
    graph: &CommitGraph,
    candidates: &[Candidate],
    options: &CurateOptions,
    judges: &Judges<'_>,
    progress: &dyn Progress,
) -> Result<Read, DataError> {
    let chunks: Vec<Result<Read, DataError>> = candidates
        .par_chunks(CHUNK)
        .map(|chunk| read_chunk(repository, graph, chunk, options, judges, progress))
        .collect();
    let mut all = Read::default();
    for chunk in chunks {
        let chunk = chunk?;
        all.outcomes.extend(chunk.outcomes);
        crate::note::add_all(&mut all.notes, &chunk.notes);
    }
    Ok(all)
}

fn read_chunk(
    repository: &Repository,
    graph: &CommitGraph,
    candidates: &[Candidate],
    options: &CurateOptions,
    judges: &Judges<'_>,
    progress: &dyn Progress,
) -> Result<Read, DataError> {
    let mut marks = Marks::default();
    let mut bases = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        bases.push(graph.merge_base(repository, candidate.base, candidate.head, &mut marks)?);
    }
    let known = bases.iter().zip(candidates).enumerate();
    let (numbers, pairs): (Vec<usize>, Vec<_>) = known
        .filter_map(|(number, (base, candidate))| Some((number, ((*base)?, candidate.head))))
        .unzip();
    let mut notes = Notes::new();
    let mut changes: Vec<Result<Vec<FileChange>, DropReason>> =
        candidates.iter().map(|_| Err(DropReason::UnrelatedHistories)).collect();
    for_each_change(repository, &pairs, |at, found| {
        changes[numbers[at]] = select(found, &options.filters, &mut notes);
    })?;
    let mut reader = Reader {
        objects: Objects::open(repository)?,
        scout: Scout::default(),
        licences: Licences::default(),
        options,
        judges,
        notes,
    };
    let mut outcomes = Vec::with_capacity(candidates.len());
    for ((candidate, base), change) in candidates.iter().zip(bases).zip(changes) {
        outcomes.push(match (base, change) {
            (Some(base), Ok(files)) => reader.read_one(candidate, base, &files)?,
            (_, Err(reason)) => Err(reason),
            (None, Ok(_)) => Err(DropReason::UnrelatedHistories),
        });
        progress.advance(1);
    }
    Ok(Read { outcomes, notes: reader.notes })
}

/// Reads candidates one by one.
struct Reader<'a> {
    objects: Objects,
    scout: Scout,
    licences: Licences,
    options: &'a CurateOptions,
    judges: &'a Judges<'a>,
    notes: Notes,
}

impl Reader<'_> {
    /// Reads the texts of one candidate, filters by them, adds related files, checks the whole.
    fn read_one(
        &mut self,
        candidate: &Candidate,
        base: ObjectId,
        files: &[FileChange],
    ) -> Result<Outcome, DataError> {
        let commits = self.objects.commits(&[base, candidate.head])?;
        let [Some(old), Some(new)] = &commits[..] else {
            return Ok(Err(DropReason::MissingCommit));
        };
        let licences = self.licences.of_tree(&mut self.objects, old.tree)?;
        if let Some(allowed) = &self.options.filters.licences
            && !licence::is_allowed(&licences, allowed)
        {
            return Ok(Err(DropReason::Licence));
        }
        let texts = match read_texts(&mut self.objects, files, &self.options.filters)? {
            Ok(texts) => texts,
            Err(reason) => return Ok(Err(reason)),
        };
        let changed: Vec<ChangedFile<'_>> = sides(files, &texts).collect();
        if let Some(reason) = verdict::judge_texts(&changed, &self.options.filters) {
            return Ok(Err(reason));
        }
        self.note(files, &texts);
        let mut seed = candidate.seed.clone();
        (seed.files, seed.oracle) = context_and_oracle(files, &texts);
        let paths: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
        let issue = seed.issue_text();
        let surroundings = Surroundings {
            root: old.tree,
            issue: &issue,
            title: &seed.title,
            body: &seed.body,
            changed: &paths,
            edited: &seed.files,
        };
        let related = self.scout.related(
            &mut self.objects,
            &surroundings,
            self.options.context,
            self.judges.relevant,
        )?;
        seed.files.extend(related);
        seed.base_commit = base.to_string();
        seed.head_commit = candidate.head.to_string();
        if !round_trips(&mut self.objects, &seed, old.tree, new.tree, &paths)? {
            return Ok(Err(DropReason::RoundTrip));
        }
        if case_collisions(&mut self.objects, new.tree, &paths)? {
            count(&mut self.notes, Note::CaseCollision);
        }
        debug_assert_eq!(seed.validate(), Ok(()), "a curated seed keeps the schema's invariants");
        Ok(Ok(Kept { seed, licences }))
    }

    fn note(&mut self, files: &[FileChange], texts: &Texts) {
        let crlf = |side: &Option<String>| side.as_deref().is_some_and(|t| t.contains("\r\n"));
        let added = || texts.iter().filter(|(old, _)| old.is_none()).map(|(_, new)| new);
        let deleted = || texts.iter().filter(|(_, new)| new.is_none()).map(|(old, _)| old);
        let mut lone = added().chain(deleted());
        for (note, holds) in [
            (Note::Rename, moved(texts)),
            (Note::ModeChange, files.iter().any(|file| file.mode_changes)),
            (Note::Addition, added().next().is_some()),
            (Note::Deletion, deleted().next().is_some()),
            (Note::EmptyFile, lone.any(|text| text.as_deref() == Some(""))),
            (Note::CarriageReturn, texts.iter().any(|(old, new)| crlf(old) || crlf(new))),
        ] {
            if holds {
                count(&mut self.notes, note);
            }
        }
    }
}

/// Paths with both texts; a missing file is the empty text.
fn sides<'a>(files: &'a [FileChange], texts: &'a Texts) -> impl Iterator<Item = ChangedFile<'a>> {
    files.iter().zip(texts).map(|(file, (old, new))| ChangedFile {
        path: &file.path,
        old: old.as_deref().unwrap_or(""),
        new: new.as_deref().unwrap_or(""),
    })
}

/// The edited files with their old texts, and the new texts.
fn context_and_oracle(
    files: &[FileChange],
    texts: &Texts,
) -> (Vec<ContextFile>, BTreeMap<String, String>) {
    let mut context = Vec::new();
    let mut oracle = BTreeMap::new();
    for (side, (old, _)) in sides(files, texts).zip(texts) {
        if side.old == side.new {
            // An empty file that comes or goes: no text changes.
            continue;
        }
        if old.is_some() {
            let (path, text) = (side.path.to_owned(), side.old.to_owned());
            context.push(ContextFile { path, role: FileRole::Edit, text });
        }
        oracle.insert(side.path.to_owned(), side.new.to_owned());
    }
    (context, oracle)
}
