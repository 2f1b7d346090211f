//! One instance and a clone to a seed.

use std::collections::{BTreeMap, BTreeSet};

use super::instance::{Instance, InstanceChange};
use crate::context::{ContextOptions, NotText, Scout, Surroundings, text_of};
use crate::error::DataError;
use crate::filter::DropReason;
use crate::git::Repository;
use crate::git::objects::{Objects, TreeEntry};
use crate::ids::ObjectId;
use crate::patch::{FilePatch, apply_patch, parse_patch};
use crate::seed::{
    ContextFile, FileRole, IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample, is_plain_path,
};

/// A file's texts before and after, `None` where there is no file.
type Sides = (Option<String>, Option<String>);

/// Reads instances of one clone.
pub(super) struct Builder<'a> {
    pub(super) repository: &'a Repository,
    pub(super) objects: Objects,
    pub(super) scout: Scout,
    pub(super) context: ContextOptions,
}

impl Builder<'_> {
    /// The seed of an instance whose change is a patch.
    pub(super) fn patched(
        &mut self,
        instance: &Instance,
    ) -> Result<Result<SeedExample, DropReason>, DataError> {
        let (base, patch, undoes) = match &instance.change {
            InstanceChange::Fix { base, patch } => (base, patch, false),
            InstanceChange::Bug { base, patch } => (base, patch, true),
            InstanceChange::Commit(_) => return Ok(Err(DropReason::PatchFails)),
        };
        let base = match self.repository.commit(base) {
            Ok(base) => base,
            Err(DataError::NoCommit { .. }) => return Ok(Err(DropReason::MissingCommit)),
            Err(error) => return Err(error),
        };
        let Some(Some(commit)) = self.objects.commits(&[base])?.pop() else {
            return Ok(Err(DropReason::MissingCommit));
        };
        let Ok(files) = parse_patch(patch) else { return Ok(Err(DropReason::PatchFails)) };
        let mut texts: BTreeMap<String, Sides> = BTreeMap::new();
        for file in &files {
            if let Err(reason) = self.apply(commit.tree, file, &mut texts)? {
                return Ok(Err(reason));
            }
        }
        if undoes {
            texts.values_mut().for_each(|(old, new)| std::mem::swap(old, new));
        }
        let mut seed = started(instance, base);
        for (path, (old, new)) in texts {
            let new = new.unwrap_or_default();
            if old.as_deref().unwrap_or("") == new {
                continue;
            }
            if let Some(text) = old {
                seed.files.push(ContextFile { path: path.clone(), role: FileRole::Edit, text });
            }
            seed.oracle.insert(path, new);
        }
        if seed.oracle.is_empty() {
            return Ok(Err(DropReason::EmptyChange));
        }
        if seed.issue_text().is_empty() {
            return Ok(Err(DropReason::NoIssueText));
        }
        let changed: BTreeSet<String> = seed.oracle.keys().cloned().collect();
        let issue = seed.issue_text();
        let surroundings = Surroundings {
            root: commit.tree,
            issue: &issue,
            title: "",
            body: "",
            changed: &changed,
            edited: &seed.files,
        };
        let related = self.scout.related(&mut self.objects, &surroundings, self.context, None)?;
        seed.files.extend(related);
        Ok(Ok(seed))
    }

    /// Adds the texts of one file of a patch; a rename gives two.
    fn apply(
        &mut self,
        tree: ObjectId,
        file: &FilePatch,
        texts: &mut BTreeMap<String, Sides>,
    ) -> Result<Result<(), DropReason>, DataError> {
        if file.is_binary {
            return Ok(Err(DropReason::BinaryFile));
        }
        let paths = [&file.old_path, &file.new_path];
        if paths.into_iter().flatten().any(|path| !is_plain_path(path)) {
            return Ok(Err(DropReason::UnusualPath));
        }
        let old = match &file.old_path {
            None => None,
            Some(path) => match self.text_at(tree, path)? {
                Ok(Some(text)) => Some(text),
                Ok(None) => return Ok(Err(DropReason::PatchFails)),
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let Ok(text) = apply_patch(old.as_deref().unwrap_or(""), file) else {
            return Ok(Err(DropReason::PatchFails));
        };
        match (&file.old_path, &file.new_path) {
            (Some(from), Some(to)) if from != to => {
                texts.insert(from.clone(), (old, None));
                let there = match self.text_at(tree, to)? {
                    Ok(there) => there,
                    Err(reason) => return Ok(Err(reason)),
                };
                texts.insert(to.clone(), (there, Some(text)));
            }
            (_, Some(path)) => {
                texts.insert(path.clone(), (old, Some(text)));
            }
            (Some(path), None) => {
                texts.insert(path.clone(), (old, None));
            }
            (None, None) => return Ok(Err(DropReason::PatchFails)),
        }
        Ok(Ok(()))
    }

    fn text_at(
        &mut self,
        tree: ObjectId,
        path: &str,
    ) -> Result<Result<Option<String>, DropReason>, DataError> {
        let entry = self.objects.entry(tree, path)?;
        let Some(entry) = entry.filter(TreeEntry::is_file) else { return Ok(Ok(None)) };
        let Some(Some((_, bytes))) = self.objects.read(&[entry.id])?.pop() else {
            return Ok(Err(DropReason::MissingObject));
        };
        Ok(text_of(bytes).map(Some).map_err(|problem| match problem {
            NotText::Binary => DropReason::BinaryFile,
            NotText::LfsPointer => DropReason::LfsPointer,
            NotText::NonUtf8 => DropReason::NonUtf8,
        }))
    }
}

/// The seed without its change. No commit holds the texts after a patch: the head is all zeros.
pub(super) fn started(instance: &Instance, base: ObjectId) -> SeedExample {
    let (title, body) = instance.problem.split_once('\n').unwrap_or((&instance.problem, ""));
    SeedExample {
        version: SEED_SCHEMA_VERSION,
        id: instance.id.clone(),
        repo: instance.repo.clone(),
        pull_request: instance.number,
        base_commit: base.to_string(),
        head_commit: "0".repeat(base.as_bytes().len() * 2),
        merge_commit: None,
        merged_at: instance.created_at.clone(),
        title: String::new(),
        body: String::new(),
        issue: IssueText {
            number: None,
            title: title.trim().to_owned(),
            body: body.trim().to_owned(),
            url: None,
            source: IssueSource::LinkedIssue,
        },
        files: Vec::new(),
        oracle: BTreeMap::new(),
    }
}
