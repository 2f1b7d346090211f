//! Which paths differ between pairs of commits: one `git diff-tree --stdin` for all pairs.
//!
//! Renames are not searched for: a rename is a deletion and an addition, which is what a map from
//! path to new text can say.

use std::io::BufRead;

use super::{Process, Repository};
use crate::error::DataError;
use crate::ids::ObjectId;

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path; any bytes but NUL.
    pub path: Vec<u8>,
    /// Mode and content before; `None` if the path was not there.
    pub old: Option<(u32, ObjectId)>,
    /// Mode and content after; `None` if the path is gone.
    pub new: Option<(u32, ObjectId)>,
}

/// Calls `each` with the number of the pair and its changes, for every pair (old, new) in order.
///
/// # Errors
/// If git fails: a folder on the way cannot be read.
pub fn for_each_change(
    repository: &Repository,
    pairs: &[(ObjectId, ObjectId)],
    mut each: impl FnMut(usize, Vec<Change>),
) -> Result<(), DataError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let mut input = Vec::with_capacity(pairs.len() * 82);
    for (old, new) in pairs {
        // A commit followed by another is compared with that other as if it were its parent.
        input.extend_from_slice(format!("{new} {old}\n").as_bytes());
    }
    let arguments = [
        "diff-tree",
        "--stdin",
        "--always",
        "--raw",
        "-r",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=none",
        "-O/dev/null",
    ];
    let mut process = repository.start(&arguments, Some(input))?;
    let mut record = next_record(&mut process)?;
    for (number, (_, new)) in pairs.iter().enumerate() {
        let head = ObjectId::from_hex(&record);
        if head != Ok(*new) {
            // An empty record: the command ended early and says why.
            process.finish()?;
            return Err(repository.unexpected("diff-tree", &record));
        }
        let mut changes = Vec::new();
        loop {
            record = next_record(&mut process)?;
            let Some(fields) = record.strip_prefix(b":") else { break };
            let path = next_record(&mut process)?;
            let change = parse_change(fields, path);
            changes.push(change.ok_or_else(|| repository.unexpected("diff-tree", &record))?);
        }
        each(number, changes);
    }
    process.finish()
}

/// The bytes up to the next NUL; empty at the end.
fn next_record(process: &mut Process) -> Result<Vec<u8>, DataError> {
    let mut record = Vec::new();
    let read = process.out.read_until(0, &mut record);
    read.map_err(|source| process.pipe_error(source))?;
    if record.last() == Some(&0) {
        record.pop();
    }
    Ok(record)
}

/// `100644 100755 <id> <id> M`
fn parse_change(fields: &[u8], path: Vec<u8>) -> Option<Change> {
    let text = std::str::from_utf8(fields).ok()?;
    let mut words = text.split(' ');
    let mut mode = || u32::from_str_radix(words.next()?, 8).ok();
    let (old_mode, new_mode) = (mode()?, mode()?);
    let mut id = || words.next()?.parse::<ObjectId>().ok();
    let (old, new) = (id()?, id()?);
    let side = |mode: u32, id: ObjectId| (mode != 0).then_some((mode, id));
    Some(Change { path, old: side(old_mode, old), new: side(new_mode, new) })
}
