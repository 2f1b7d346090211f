//! The last look at a seed: the oracle applied to the context gives the merged tree's text.
//!
//! Paths are looked up anew in both trees, without the difference that the seed was made from, so
//! that a fault there shows.

use std::collections::BTreeSet;

use crate::context::text_of;
use crate::error::DataError;
use crate::git::objects::Objects;
use crate::ids::ObjectId;
use crate::seed::{FileRole, SeedExample};

/// Whether every changed path has, after the oracle, exactly the merged tree's text; every file of
/// the context has the base tree's; and every relevant file is the same in both trees.
pub(super) fn round_trips(
    objects: &mut Objects,
    seed: &SeedExample,
    base: ObjectId,
    merged: ObjectId,
    changed: &BTreeSet<String>,
) -> Result<bool, DataError> {
    let mut after = seed.context();
    after.extend(seed.oracle.clone());
    for path in changed {
        let expected = text_at(objects, merged, path)?.unwrap_or_default();
        let found = after.get(path).map_or("", String::as_str);
        if found != expected {
            return Ok(false);
        }
    }
    for file in &seed.files {
        if text_at(objects, base, &file.path)?.as_ref() != Some(&file.text) {
            return Ok(false);
        }
        if file.role == FileRole::Relevant {
            let old = objects.entry(base, &file.path)?.map(|entry| entry.id);
            let new = objects.entry(merged, &file.path)?.map(|entry| entry.id);
            if old != new {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The text of the regular file at `path`; `None` if there is none or it is no text.
fn text_at(objects: &mut Objects, root: ObjectId, path: &str) -> Result<Option<String>, DataError> {
    let entry = objects.entry(root, path)?.filter(|entry| entry.is_file());
    let Some(entry) = entry else { return Ok(None) };
    let object = objects.read(&[entry.id])?.pop().flatten();
    Ok(object.and_then(|(_, bytes)| text_of(bytes).ok()))
}

/// Whether one of the paths, or a folder on its way, has a sibling that differs in letter case
/// alone: such a tree cannot be checked out everywhere.
pub(super) fn case_collisions(
    objects: &mut Objects,
    root: ObjectId,
    paths: &BTreeSet<String>,
) -> Result<bool, DataError> {
    for path in paths {
        let mut folder = root;
        for part in path.split('/') {
            let Some(entries) = objects.tree(folder)? else { break };
            let twin = entries.iter().any(|entry| {
                entry.name != part.as_bytes() && entry.name.eq_ignore_ascii_case(part.as_bytes())
            });
            if twin {
                return Ok(true);
            }
            match entries.iter().find(|entry| entry.name == part.as_bytes()) {
                Some(entry) if entry.is_tree() => folder = entry.id,
                _ => break,
            }
        }
    }
    Ok(false)
}
