//! Writing patches.

use std::fmt::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use crate::seed::SeedExample;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The whole change of a seed as `git apply` takes it, files by path.
#[must_use]
pub fn seed_patch(seed: &SeedExample) -> String {
    patch_of(seed, |_| true)
}

/// The part of a seed's change whose paths `wanted` says yes to.
pub(crate) fn patch_of(seed: &SeedExample, wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (path, new) in seed.oracle.iter().filter(|(path, _)| wanted(path)) {
        let old = seed.files.iter().find(|file| file.path == *path);
        text.push_str(&file_patch(path, old.map(|file| file.text.as_str()), new));
    }
    text
}

/// The patch of one file: `old` is `None` for a new file, an empty `new` deletes an old one. Equal
/// texts give the empty patch.
#[must_use]
pub fn file_patch(path: &str, old: Option<&str>, new: &str) -> String {
    let before = old.unwrap_or("");
    if before == new {
        return String::new();
    }
    let deleted = old.is_some() && new.is_empty();
    let (a, b) = (quoted("a/", path), quoted("b/", path));
    let mut text = format!("diff --git {a} {b}\n");
    if old.is_none() {
        text.push_str("new file mode 100644\n");
    }
    if deleted {
        text.push_str("deleted file mode 100644\n");
    }
    // A tab ends a name with blanks, as git has it.
    let end = if path.contains(' ') { "\t" } else { "" };
    let side = |there: bool, name: &str| {
        if there { format!("{name}{end}") } else { "/dev/null".to_owned() }
    };
    let _ = writeln!(text, "--- {}", side(old.is_some(), &a));
    let _ = writeln!(text, "+++ {}", side(!deleted, &b));
    let old_lines: Vec<&str> = before.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let operations = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);
    for group in group_diff_ops(operations, CONTEXT) {
        push_hunk(&group, &old_lines, &new_lines, &mut text);
    }
    text
}

fn push_hunk(group: &[DiffOp], old: &[&str], new: &[&str], text: &mut String) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let range = |start: usize, end: usize| {
        // An empty range names the line before it.
        let first = if start == end { start } else { start + 1 };
        if end - start == 1 { format!("{first}") } else { format!("{first},{}", end - start) }
    };
    let before = range(first.old_range().start, last.old_range().end);
    let after = range(first.new_range().start, last.new_range().end);
    let _ = writeln!(text, "@@ -{before} +{after} @@");
    let mut push = |mark: char, line: &str| {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    };
    for operation in group {
        if matches!(operation, DiffOp::Equal { .. }) {
            old[operation.old_range()].iter().for_each(|line| push(' ', line));
            continue;
        }
        old[operation.old_range()].iter().for_each(|line| push('-', line));
        new[operation.new_range()].iter().for_each(|line| push('+', line));
    }
}

/// A path as git writes it: in quotes where it holds a quote or a backslash.
fn quoted(prefix: &str, path: &str) -> String {
    if path.contains(['"', '\\']) {
        let inner = path.replace('\\', "\\\\").replace('"', "\\\"");
        return format!("\"{prefix}{inner}\"");
    }
    format!("{prefix}{path}")
}
