//! Changed paths and their texts, with the filters that look at modes, sizes and bytes.

use crate::context::{NotText, text_of};
use crate::error::DataError;
use crate::filter::size::changed_lines;
use crate::filter::{DropReason, FilterOptions, verdict};
use crate::git::changes::Change;
use crate::git::objects::{ObjectKind, Objects};
use crate::ids::ObjectId;
use crate::note::{Note, Notes, count};
use crate::seed::is_plain_path;

/// A changed path with valid name: old and new blob.
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) old: Option<ObjectId>,
    pub(super) new: Option<ObjectId>,
    /// Whether the executable bit changes too.
    pub(super) mode_changes: bool,
}

/// Old and new text of every file.
pub(super) type Texts = Vec<(Option<String>, Option<String>)>;

const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// The filters that look at paths and modes alone; the files sorted by path.
pub(super) fn select(
    changes: Vec<Change>,
    options: &FilterOptions,
    notes: &mut Notes,
) -> Result<Vec<FileChange>, DropReason> {
    let kind = |side: Option<(u32, ObjectId)>| side.map(|(mode, _)| mode & 0o170_000);
    let is_file = |side| kind(side).is_none_or(|kind| kind == 0o100_000);
    let id = |side: Option<(u32, ObjectId)>| side.map(|(_, id)| id);
    let files_on_both = |change: &Change| is_file(change.old) && is_file(change.new);
    let mode_changes = |change: &Change| {
        let modes = change.old.zip(change.new);
        files_on_both(change) && modes.is_some_and(|((old, _), (new, _))| old != new)
    };
    // A changed executable bit is no changed text.
    let (bits, changes): (Vec<Change>, Vec<Change>) = changes
        .into_iter()
        .partition(|change| mode_changes(change) && id(change.old) == id(change.new));
    if !bits.is_empty() && !changes.iter().any(mode_changes) {
        count(notes, Note::ModeChange);
    }
    if changes.is_empty() {
        return Err(DropReason::EmptyChange);
    }
    if changes.len() > options.max_files {
        return Err(DropReason::TooManyFiles);
    }
    let mut files = Vec::with_capacity(changes.len());
    for change in &changes {
        let path = std::str::from_utf8(&change.path).ok().filter(|path| is_plain_path(path));
        let path = path.ok_or(DropReason::UnusualPath)?.to_owned();
        let mode_changes = mode_changes(change);
        files.push(FileChange { path, old: id(change.old), new: id(change.new), mode_changes });
    }
    for change in &changes {
        for kind in [kind(change.old), kind(change.new)].into_iter().flatten() {
            match kind {
                0o100_000 => {}
                SUBMODULE => return Err(DropReason::Submodule),
                LINK => return Err(DropReason::SymbolicLink),
                _ => return Err(DropReason::UnusualPath),
            }
        }
    }
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    if let Some(reason) = verdict::judge_paths(&paths, options) {
        return Err(reason);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Old and new text of every file, after the filters that look at sizes and bytes.
pub(super) fn read_texts(
    objects: &mut Objects,
    files: &[FileChange],
    options: &FilterOptions,
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
    if old_bytes.max(new_bytes) > options.max_bytes {
        return Ok(Err(DropReason::TooLarge));
    }
    let mut contents = objects.read(&ids)?.into_iter();
    let mut next = |side: Option<ObjectId>| match side {
        None => Ok(None),
        Some(_) => match contents.next().flatten() {
            None => Err(DropReason::MissingObject),
            Some((_, bytes)) => text_of(bytes).map(Some).map_err(|problem| match problem {
                NotText::Binary => DropReason::BinaryFile,
                NotText::LfsPointer => DropReason::LfsPointer,
                NotText::NonUtf8 => DropReason::NonUtf8,
            }),
        },
    };
    Ok(files.iter().map(|file| Ok((next(file.old)?, next(file.new)?))).collect())
}

/// Whether a deleted text comes back under another path with at least half of its lines.
pub(super) fn moved(texts: &Texts) -> bool {
    let gone = || texts.iter().filter(|(_, new)| new.is_none()).filter_map(|(old, _)| old.as_ref());
    let come = || texts.iter().filter(|(old, _)| old.is_none()).filter_map(|(_, new)| new.as_ref());
    gone().any(|old| {
        come().any(|new| {
            let lines = old.lines().count() + new.lines().count();
            lines > 0 && changed_lines(old, new) * 2 <= lines
        })
    })
}
