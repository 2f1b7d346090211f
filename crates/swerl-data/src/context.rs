//! A few unmodified files that belong to the edited ones, chosen without a model.
//!
//! Candidates in this order: what the edited files import (by file, then by line), what the
//! issue names, what lies in the folders of the edited files with the same extension (by name).
//! A candidate is taken if it is a regular text file of a programming language at the base
//! commit, is not edited, and fits what is left of the limits. Same input, same choice.

use std::collections::BTreeSet;

use crate::error::DataError;
use crate::git::objects::{ObjectKind, Objects, TreeEntry};
use crate::ids::ObjectId;
use crate::language::{extension, is_programming_file};
use crate::seed::{ContextFile, FileRole, is_plain_path};

pub mod imports;
pub mod mentions;

/// How much is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextOptions {
    /// The most files. Usual: 3; 0 adds none.
    pub max_files: usize,
    /// The most bytes of all of them together. Usual: 24,576.
    pub max_bytes: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { max_files: 3, max_bytes: 24_576 }
    }
}

/// The text of a blob; the error says why it is none.
pub(crate) enum NotText {
    Binary,
    NonUtf8,
}

/// Checks that bytes are a text: UTF-8, no NUL, no pointer to large-file storage.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, NotText> {
    let pointer = bytes.starts_with(b"version https://git-lfs.github.com/spec/");
    if pointer || bytes.contains(&0) {
        return Err(NotText::Binary);
    }
    String::from_utf8(bytes).map_err(|_| NotText::NonUtf8)
}

/// Chooses related files from the folder `root`.
///
/// `changed` are the paths that the change touches, added ones included; `edited` are those with
/// their old texts. Imports are read from the old texts alone, as the new ones are the answer.
///
/// # Errors
/// If git fails.
pub fn related_files(
    objects: &mut Objects,
    root: ObjectId,
    changed: &BTreeSet<String>,
    edited: &[ContextFile],
    issue: &str,
    options: ContextOptions,
) -> Result<Vec<ContextFile>, DataError> {
    let mut picked =
        Picker { objects, root, options, bytes: 0, seen: changed.clone(), files: Vec::new() };
    let programs = || edited.iter().filter(|file| is_programming_file(&file.path));
    for file in programs() {
        for guess in imports::imported_paths(&file.path, &file.text) {
            if picked.is_full() {
                return Ok(picked.files);
            }
            picked.try_path(&guess)?;
        }
    }
    let folders: BTreeSet<&str> = programs().map(|file| folder_of(&file.path)).collect();
    for name in mentions::mentioned_paths(issue) {
        for folder in ancestors(&folders) {
            if picked.is_full() {
                return Ok(picked.files);
            }
            picked.try_path(&join(&folder, &name))?;
        }
    }
    for file in programs() {
        if picked.is_full() {
            break;
        }
        picked.try_folder(folder_of(&file.path), extension(&file.path).as_deref())?;
    }
    Ok(picked.files)
}

/// The folder of a path; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a folder, maybe the root, and a path.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The folders and all folders above them, the deepest first, then by name; the root last.
fn ancestors(folders: &BTreeSet<&str>) -> Vec<String> {
    let mut all = BTreeSet::from([""]);
    for folder in folders {
        let mut next = *folder;
        while !next.is_empty() && all.insert(next) {
            next = folder_of(next);
        }
    }
    let mut sorted: Vec<String> = all.into_iter().map(str::to_owned).collect();
    let depth =
        |folder: &String| if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
    sorted.sort_by_key(|folder| std::cmp::Reverse(depth(folder)));
    sorted
}

struct Picker<'a> {
    objects: &'a mut Objects,
    root: ObjectId,
    options: ContextOptions,
    bytes: usize,
    seen: BTreeSet<String>,
    files: Vec<ContextFile>,
}

impl Picker<'_> {
    fn is_full(&self) -> bool {
        self.files.len() >= self.options.max_files || self.bytes >= self.options.max_bytes
    }

    fn try_path(&mut self, path: &str) -> Result<(), DataError> {
        if !is_programming_file(path) || self.seen.contains(path) {
            return Ok(());
        }
        match self.objects.entry(self.root, path)? {
            Some(entry) => self.try_entry(path, &entry),
            None => Ok(()),
        }
    }

    fn try_folder(&mut self, folder: &str, wanted: Option<&str>) -> Result<(), DataError> {
        let id = match folder {
            "" => Some(self.root),
            _ => self.objects.entry(self.root, folder)?.filter(TreeEntry::is_tree).map(|e| e.id),
        };
        let Some(id) = id else { return Ok(()) };
        let Some(entries) = self.objects.tree(id)? else { return Ok(()) };
        for entry in entries.iter() {
            if self.is_full() {
                break;
            }
            let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
            if extension(name).as_deref() == wanted {
                let path = join(folder, name);
                if is_programming_file(&path) && !self.seen.contains(&path) {
                    self.try_entry(&path, entry)?;
                }
            }
        }
        Ok(())
    }

    fn try_entry(&mut self, path: &str, entry: &TreeEntry) -> Result<(), DataError> {
        if !entry.is_file() || !is_plain_path(path) {
            return Ok(());
        }
        self.seen.insert(path.to_owned());
        let room = self.options.max_bytes - self.bytes;
        let size = match self.objects.info(&[entry.id])?.pop().flatten() {
            Some((ObjectKind::Blob, size)) => usize::try_from(size).unwrap_or(usize::MAX),
            _ => return Ok(()),
        };
        if size == 0 || size > room {
            return Ok(());
        }
        let Some(Some((_, bytes))) = self.objects.read(&[entry.id])?.pop() else { return Ok(()) };
        if let Ok(text) = text_of(bytes) {
            self.bytes += text.len();
            let path = path.to_owned();
            self.files.push(ContextFile { path, role: FileRole::Relevant, text });
        }
        Ok(())
    }
}
