//! A few unmodified files that belong to the edited ones.
//!
//! By default chosen without a model, from four rankings of the tree at the base commit: what the
//! edited files import, what the issue names, what shares words with the issue ([`bm25`]), and
//! what lies near the edited files. Rankings are joined by reciprocal rank:
//! `score(f) = sum over rankings of weight / (20 + place of f)`. A model may choose instead
//! ([`RelevantFiles`]). Either way a file is taken only if it is a regular text file of a
//! programming language, is not changed, and fits what is left of the limits. Same input, same
//! choice.

use std::collections::BTreeSet;

use crate::error::DataError;
use crate::git::objects::{ObjectKind, Objects};
use crate::ids::ObjectId;
use crate::seed::{ContextFile, FileRole};
use crate::tokens::estimate_tokens;

pub mod ask;
pub mod bm25;
pub mod imports;
pub mod mentions;
mod rankings;
mod tree;

pub use ask::{AskModel, parse_relevant_files, relevant_files_prompt};
pub use rankings::Scout;

/// How much is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextOptions {
    /// The most files. Usual: 3; 0 adds none.
    pub max_files: usize,
    /// The most tokens of all of them together, by
    /// [`estimate_tokens`]. Usual: 6,144.
    pub max_tokens: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { max_files: 3, max_tokens: 6_144 }
    }
}

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub struct RelevantRequest<'a> {
    /// The issue's text.
    pub issue: &'a str,
    /// The pull request's title.
    pub title: &'a str,
    /// The pull request's description.
    pub body: &'a str,
    /// The paths that the change touches, added ones included.
    pub changed: &'a BTreeSet<String>,
    /// The edited files with their old texts. The new ones are the answer and not shown.
    pub edited: &'a [ContextFile],
    /// The programming files of the tree that the change leaves alone, sorted.
    pub tree: &'a [String],
}

/// Chooses unmodified files: a model that was asked, a search engine, a person.
pub trait RelevantFiles: Sync {
    /// Paths out of `request.tree`, the most relevant first; others are ignored. `None` where it
    /// cannot tell: the rankings decide then.
    fn choose(&self, request: &RelevantRequest<'_>) -> Option<Vec<String>>;
}

/// The text of a blob; the error says why it is none.
pub(crate) enum NotText {
    Binary,
    LfsPointer,
    NonUtf8,
}

/// Checks that bytes are a text: UTF-8, no NUL, no pointer to large-file storage.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, NotText> {
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(NotText::LfsPointer);
    }
    if bytes.contains(&0) {
        return Err(NotText::Binary);
    }
    String::from_utf8(bytes).map_err(|_| NotText::NonUtf8)
}

/// A seed in the making, for [`Scout::related`].
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The root folder at the base commit.
    pub root: ObjectId,
    /// The issue's text.
    pub issue: &'a str,
    /// The pull request's title.
    pub title: &'a str,
    /// The pull request's description.
    pub body: &'a str,
    /// The paths that the change touches.
    pub changed: &'a BTreeSet<String>,
    /// The edited files.
    pub edited: &'a [ContextFile],
}

/// Takes files in the order given until the limits are reached; one that does not fit is passed
/// over.
fn take(
    objects: &mut Objects,
    order: impl Iterator<Item = (String, ObjectId)>,
    options: ContextOptions,
) -> Result<Vec<ContextFile>, DataError> {
    let mut files = Vec::new();
    let mut tokens = 0;
    for (path, blob) in order {
        if files.len() >= options.max_files || tokens >= options.max_tokens {
            break;
        }
        let room = options.max_tokens - tokens;
        // No tokenizer packs more than a few dozen bytes into one token.
        let most_bytes = room.saturating_mul(32) as u64;
        let size = match objects.info(&[blob])?.pop().flatten() {
            Some((ObjectKind::Blob, size)) => size,
            _ => continue,
        };
        if size == 0 || size > most_bytes {
            continue;
        }
        let Some(Some((_, bytes))) = objects.read(&[blob])?.pop() else { continue };
        let Ok(text) = text_of(bytes) else { continue };
        let cost = estimate_tokens(&text);
        if cost <= room {
            tokens += cost;
            files.push(ContextFile { path, role: FileRole::Relevant, text });
        }
    }
    Ok(files)
}

/// The folder of a path; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a folder, maybe the root, and a path.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
