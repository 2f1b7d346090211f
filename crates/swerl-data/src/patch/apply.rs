//! Carrying a patch out on a text.

use super::{FilePatch, LineKind, PatchHunk, PatchProblem};

/// The text after the patch. A new file is patched from the empty text.
///
/// # Errors
/// If the patch is binary or a hunk's lines are nowhere behind the hunk before it.
pub fn apply_patch(text: &str, patch: &FilePatch) -> Result<String, PatchProblem> {
    let path = || patch.new_path.as_ref().or(patch.old_path.as_ref()).cloned().unwrap_or_default();
    if patch.is_binary {
        return Err(PatchProblem::Binary { path: path() });
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut next = 0;
    // How far the hunks before were from where they said.
    let mut shift: isize = 0;
    for (number, hunk) in (1..).zip(&patch.hunks) {
        let wanted = old_side(hunk);
        // A hunk without old lines names the line before it.
        let named = if wanted.is_empty() { hunk.old_start } else { hunk.old_start.max(1) - 1 };
        let expected = named.saturating_add_signed(shift);
        let place = place_of(&lines, next, &wanted, expected)
            .ok_or_else(|| PatchProblem::DoesNotApply { path: path(), hunk: number })?;
        shift += signed(place) - signed(expected);
        out.extend(lines[next..place].iter().copied());
        let new = hunk.lines.iter().filter(|(kind, _)| *kind != LineKind::Removed);
        out.extend(new.map(|(_, line)| line.as_str()));
        next = place + wanted.len();
    }
    out.extend(lines[next..].iter().copied());
    Ok(out)
}

fn signed(place: usize) -> isize {
    isize::try_from(place).unwrap_or(isize::MAX)
}

fn old_side(hunk: &PatchHunk) -> Vec<&str> {
    let old = hunk.lines.iter().filter(|(kind, _)| *kind != LineKind::Added);
    old.map(|(_, line)| line.as_str()).collect()
}

/// Where `wanted` stands at or behind `from`, nearest to `expected`; the earlier of two as near.
fn place_of(lines: &[&str], from: usize, wanted: &[&str], expected: usize) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len()).filter(|last| *last >= from)?;
    let fits = |place: &usize| lines[*place..*place + wanted.len()] == *wanted;
    if wanted.is_empty() {
        return Some(expected.clamp(from, last));
    }
    (from..=last).filter(fits).min_by_key(|place| place.abs_diff(expected))
}

#[cfg(test)]
mod tests {
    use super::apply_patch;
    use crate::patch::{file_patch, parse_patch};

    #[track_caller]
    fn check(old: Option<&str>, new: &str) {
        let text = file_patch("a b.py", old, new);
        let files = parse_patch(&text).unwrap();
        assert_eq!(files.len(), 1, "{text}");
        assert_eq!(apply_patch(old.unwrap_or(""), &files[0]).unwrap(), new, "{text}");
    }

    #[test]
    fn what_is_written_applies() {
        let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let edited = long.replace("line 3\n", "").replace("line 30\n", "x\ny\n");
        check(Some(&long), &edited);
        check(Some(&edited), &long);
        check(None, "x\n");
        check(None, "no end");
        check(Some("x\n"), "");
        check(Some("a"), "a\n");
        check(Some("a\n"), "a");
        check(Some("a\r\nb\r\n"), "a\r\nc\r\n");
        check(Some("-- a\n++ b\n@@ c\n"), "-- a\n@@ c\n\\ d\n");
        assert_eq!(file_patch("a", Some("x"), "x"), "");
    }

    #[test]
    fn moved_lines_are_found_and_lost_ones_are_not() {
        let patch = parse_patch("--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n").unwrap();
        assert_eq!(apply_patch("0\n0\na\nb\nc\nd\n", &patch[0]).unwrap(), "0\n0\na\nb\nC\nd\n");
        let error = apply_patch("a\nb\nd\n", &patch[0]).unwrap_err().to_string();
        assert_eq!(error, "hunk 1 does not apply to 'x'");
    }
}
