//! The programming files of a tree.

use std::sync::Arc;

use super::join;
use crate::error::DataError;
use crate::git::objects::{Objects, TreeEntry};
use crate::ids::ObjectId;
use crate::language::is_programming_file;
use crate::seed::is_plain_path;

/// Files listed of one tree; later ones, in the order of a walk, are not seen.
const MOST_FILES: usize = 20_000;
/// Folders below one another; git allows more, people use fewer.
const DEEPEST: usize = 64;

/// All regular files of programming languages below `root` with their blobs, sorted by path.
/// Links and submodules are not followed.
pub(super) fn programming_files(
    objects: &mut Objects,
    root: ObjectId,
) -> Result<Vec<(String, ObjectId)>, DataError> {
    let mut files = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((folder, id)) = open.pop() {
        let Some(entries) = objects.tree(id)? else { continue };
        let entries: Arc<Vec<TreeEntry>> = entries;
        for entry in entries.iter() {
            let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
            let path = join(&folder, name);
            if !is_plain_path(&path) {
                continue;
            }
            if entry.is_tree() && path.matches('/').count() < DEEPEST {
                open.push((path, entry.id));
            } else if entry.is_file() && is_programming_file(&path) {
                files.push((path, entry.id));
            }
        }
        if files.len() >= MOST_FILES {
            files.truncate(MOST_FILES);
            break;
        }
    }
    files.sort();
    Ok(files)
}
