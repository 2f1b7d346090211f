//! The rankings of a tree, and their sum.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bm25::{self, WordCache, WordCounts};
use super::tree::programming_files;
use super::{
    ContextOptions, RelevantFiles, RelevantRequest, Surroundings, folder_of, imports, join,
    mentions, take, text_of,
};
use crate::error::DataError;
use crate::git::objects::{ObjectKind, Objects};
use crate::ids::ObjectId;
use crate::language::{is_programming_file, language};
use crate::seed::ContextFile;

/// Files whose texts are compared with the issue, the nearest to the edited ones first.
const MOST_COMPARED: usize = 2_000;
/// Larger files are compared by their path alone, in bytes.
const LARGEST_COMPARED: u64 = 65_536;
/// The place from which on ranks count little.
const RANK_OFFSET: f64 = 20.0;
/// Weights of the rankings: imports, names in the issue, shared words, neighbourhood.
const WEIGHTS: [f64; 4] = [3.0, 3.0, 1.5, 1.0];

/// Finds related files; keeps word counts between seeds of one repository.
#[derive(Debug, Default)]
pub struct Scout {
    words: WordCache,
}

impl Scout {
    /// Unmodified files that belong to a change, the most relevant first.
    ///
    /// Imports are read from the old texts alone, as the new ones are the answer.
    ///
    /// # Errors
    /// If git fails.
    pub fn related(
        &mut self,
        objects: &mut Objects,
        seed: &Surroundings<'_>,
        options: ContextOptions,
        model: Option<&dyn RelevantFiles>,
    ) -> Result<Vec<ContextFile>, DataError> {
        if options.max_files == 0 || options.max_tokens == 0 {
            return Ok(Vec::new());
        }
        let mut tree = programming_files(objects, seed.root)?;
        tree.retain(|(path, _)| !seed.changed.contains(path));
        let blobs: BTreeMap<&str, ObjectId> =
            tree.iter().map(|(path, blob)| (path.as_str(), *blob)).collect();
        let order = match model {
            Some(model) => chosen(model, seed, &blobs),
            None => None,
        };
        let order = match order {
            Some(order) => order,
            None => self.ranked(objects, seed, &tree, &blobs)?,
        };
        let with_blob = order.into_iter().filter_map(|path| {
            let blob = *blobs.get(path.as_str())?;
            Some((path, blob))
        });
        take(objects, with_blob, options)
    }

    fn ranked(
        &mut self,
        objects: &mut Objects,
        seed: &Surroundings<'_>,
        tree: &[(String, ObjectId)],
        blobs: &BTreeMap<&str, ObjectId>,
    ) -> Result<Vec<String>, DataError> {
        let programs: Vec<&ContextFile> =
            seed.edited.iter().filter(|file| is_programming_file(&file.path)).collect();
        let folders: BTreeSet<&str> = programs.iter().map(|file| folder_of(&file.path)).collect();
        let guesses =
            programs.iter().flat_map(|file| imports::imported_paths(&file.path, &file.text));
        let imported = known(guesses, blobs);
        let above = ancestors(&folders);
        let named = mentions::mentioned_paths(seed.issue).into_iter();
        let named = known(named.flat_map(|name| above.iter().map(move |f| join(f, &name))), blobs);
        let near = neighbours(&programs, tree);
        let alike = self.alike(objects, seed.issue, tree, &near)?;
        let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
        for (ranking, weight) in [&imported, &named, &alike, &near].into_iter().zip(WEIGHTS) {
            let mut place = RANK_OFFSET;
            for path in ranking {
                place += 1.0;
                *scores.entry(path).or_default() += weight / place;
            }
        }
        let mut order: Vec<(&str, f64)> = scores.into_iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        Ok(order.into_iter().map(|(path, _)| path.to_owned()).collect())
    }

    /// Files that share words with the issue, best first.
    fn alike(
        &mut self,
        objects: &mut Objects,
        issue: &str,
        tree: &[(String, ObjectId)],
        near: &[String],
    ) -> Result<Vec<String>, DataError> {
        let first: BTreeSet<&str> = near.iter().map(String::as_str).collect();
        let (close, far): (Vec<_>, Vec<_>) =
            tree.iter().partition(|(path, _)| first.contains(path.as_str()));
        let compared: Vec<&(String, ObjectId)> =
            close.into_iter().chain(far).take(MOST_COMPARED).collect();
        let unknown: Vec<ObjectId> = compared
            .iter()
            .map(|(_, blob)| *blob)
            .filter(|blob| self.words.get(*blob).is_none())
            .collect();
        let sizes = objects.info(&unknown)?;
        let small: Vec<ObjectId> = unknown
            .iter()
            .zip(sizes)
            .filter(|(_, info)| {
                info.is_some_and(|(kind, size)| {
                    kind == ObjectKind::Blob && size <= LARGEST_COMPARED
                })
            })
            .map(|(blob, _)| *blob)
            .collect();
        let mut fresh: BTreeMap<ObjectId, Arc<WordCounts>> = BTreeMap::new();
        for batch in small.chunks(256) {
            for (blob, object) in batch.iter().zip(objects.read(batch)?) {
                let text = object.and_then(|(_, bytes)| text_of(bytes).ok()).unwrap_or_default();
                fresh.insert(*blob, self.words.insert(*blob, &text));
            }
        }
        let nothing = Arc::new(WordCounts::default());
        let counted: Vec<(&str, Arc<WordCounts>)> = compared
            .iter()
            .map(|(path, blob)| {
                let counts = fresh.get(blob).cloned().or_else(|| self.words.get(*blob));
                (path.as_str(), counts.unwrap_or_else(|| Arc::clone(&nothing)))
            })
            .collect();
        let places = bm25::rank(issue, &counted);
        Ok(places.into_iter().map(|place| counted[place].0.to_owned()).collect())
    }
}

/// What a model chose of the files that exist, each once; `None` if it chose none of them.
fn chosen(
    model: &dyn RelevantFiles,
    seed: &Surroundings<'_>,
    blobs: &BTreeMap<&str, ObjectId>,
) -> Option<Vec<String>> {
    let tree: Vec<String> = blobs.keys().map(|path| (*path).to_owned()).collect();
    let request = RelevantRequest {
        issue: seed.issue,
        title: seed.title,
        body: seed.body,
        changed: seed.changed,
        edited: seed.edited,
        tree: &tree,
    };
    let order = known(model.choose(&request)?.into_iter(), blobs);
    (!order.is_empty()).then_some(order)
}

/// The paths that exist, each once, in order.
fn known(paths: impl Iterator<Item = String>, blobs: &BTreeMap<&str, ObjectId>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    paths.filter(|path| blobs.contains_key(path.as_str()) && seen.insert(path.clone())).collect()
}

/// Files of the edited files' languages by the number of steps between their folders, then by
/// path; at most two steps away.
fn neighbours(edited: &[&ContextFile], tree: &[(String, ObjectId)]) -> Vec<String> {
    let homes: Vec<(&str, Option<&str>)> =
        edited.iter().map(|file| (folder_of(&file.path), language(&file.path))).collect();
    let mut found: Vec<(usize, &str)> = tree
        .iter()
        .filter_map(|(path, _)| {
            let tongue = language(path);
            let near = homes.iter().filter(|(_, wanted)| *wanted == tongue);
            let steps = near.map(|(home, _)| steps_between(home, folder_of(path))).min()?;
            (steps <= 2).then_some((steps, path.as_str()))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, path)| path.to_owned()).collect()
}

/// Steps up and down from one folder to another.
fn steps_between(a: &str, b: &str) -> usize {
    let parts = |folder: &str| -> Vec<String> {
        folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (parts(a), parts(b));
    let shared = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    a.len() + b.len() - 2 * shared
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

#[cfg(test)]
mod tests {
    use super::steps_between;

    #[test]
    fn steps() {
        for (a, b, expected) in [("", "", 0), ("a", "a", 0), ("a/b", "a/c", 2), ("", "a/b", 2)] {
            assert_eq!(steps_between(a, b), expected, "{a} {b}");
        }
    }
}
