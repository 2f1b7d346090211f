//! A thought for supervised answers that have none: where the change belongs, and what it is.
//!
//! A merged change comes without the reasoning that led to it. What can be said of any change is
//! its place and its smallest wording. Reading the code at the place and deciding on the words that
//! change, before any line is written anew, is what a policy has to learn first: asked for the whole
//! line at once, a small one copies the old line and calls it a fix.

use swerl_data::SeedExample;
use swerl_reward::{Edit, minimal_edits};

/// Most lines quoted of one place.
const QUOTED: usize = 12;

/// The changes that the oracle of `seed` makes, each as the path of its file, the code read there
/// (from the line that heads the place to the last line that the edit searches), and what becomes
/// of it.
///
/// The heading is the last line at or before the place that begins with a letter or `_` (which is
/// what `git diff` writes behind a hunk's `@@`). Where more than 12 lines would be quoted, those
/// between the heading and the searched ones are left out. New files have a path alone.
///
/// The change is the words that differ with one neighbour on each side, or the first of the lines
/// that are inserted, dropped or rewritten.
///
/// ```text
/// src/total.py
/// def total(values):
///     result = 1
/// replace `= 1` by `= 0`
/// ```
#[must_use]
pub fn change_thought(seed: &SeedExample) -> String {
    let context = seed.context();
    let mut lines: Vec<String> = Vec::new();
    let edits = minimal_edits(&context, &seed.oracle);
    let mut last = "";
    for edit in &edits {
        if edit.path != last {
            lines.push(edit.path.clone());
            last = &edit.path;
        }
        if let Some(text) = context.get(&edit.path) {
            lines.extend(describe_edit(text, edit));
        }
    }
    lines.join("\n")
}

/// The lines of [`change_thought`] on one edit of a file with `text`: the code read at its place, and
/// what becomes of it. None where the edit searches nothing.
#[must_use]
pub fn describe_edit(text: &str, edit: &Edit) -> Vec<String> {
    let quoted = quotation(text, &edit.search, &edit.replace);
    quoted.into_iter().map(str::to_owned).chain(change(&edit.search, &edit.replace)).collect()
}

/// One line that says how `search` becomes `replace`; none for an empty search text.
fn change(search: &str, replace: &str) -> Option<String> {
    if search.is_empty() {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (search.split('\n').collect(), replace.split('\n').collect());
    let (before, after) = common_ends(&old, &new);
    let (old, new) = (&old[before..old.len() - after], &new[before..new.len() - after]);
    Some(match (old, new) {
        (old, []) => format!("drop `{}`", old.first()?.trim()),
        ([], new) => format!("insert `{}`", new.first()?.trim()),
        ([old], [new]) => {
            let (old, new) = (words(old), words(new));
            let (before, after) = common_ends(&old, &new);
            let (start, after) = (before.saturating_sub(1), after.saturating_sub(1));
            let shown = |line: &[&str]| line[start..line.len() - after].concat().trim().to_owned();
            format!("replace `{}` by `{}`", shown(&old), shown(&new))
        }
        (old, new) => format!("replace `{}` by `{}`", old.first()?.trim(), new.first()?.trim()),
    })
}

/// Lengths of the longest equal beginning, and of the longest equal end beside it.
fn common_ends<T: PartialEq>(a: &[T], b: &[T]) -> (usize, usize) {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let after =
        a[before..].iter().rev().zip(b[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    (before, after)
}

/// A line cut into words and single other characters, each with the blanks before it.
fn words(line: &str) -> Vec<&str> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut start, mut last) = (Vec::new(), 0, ' ');
    for (at, c) in line.char_indices() {
        let goes_on = last.is_whitespace() || (in_word(last) && in_word(c));
        if !goes_on {
            out.push(&line[start..at]);
            start = at;
        }
        last = c;
    }
    if start < line.len() {
        out.push(&line[start..]);
    }
    out
}

/// What is read at the place that an edit changes; nothing for an empty search text.
fn quotation<'t>(text: &'t str, search: &str, replace: &str) -> Vec<&'t str> {
    let place = if search.is_empty() {
        None
    } else if text.starts_with(search) {
        Some(0)
    } else {
        text.find(&format!("\n{search}")).map(|at| at + 1)
    };
    let Some(place) = place else { return Vec::new() };
    let same = search.split('\n').zip(replace.split('\n')).take_while(|(a, b)| a == b).count();
    let searched = search.split('\n').count();
    let first = text[..place].matches('\n').count();
    let changed = first + same.min(searched - 1);
    let lines: Vec<&str> = text.split('\n').take(first + searched).collect();
    let heads = |line: &&str| line.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let heading = lines[..=changed].iter().rposition(heads).unwrap_or(first);
    let start = heading.min(first);
    if lines.len() - start <= QUOTED {
        return lines[start..].to_vec();
    }
    let mut quoted = if heading < first { vec![lines[heading]] } else { Vec::new() };
    quoted.extend(lines[first..].iter().take(QUOTED - quoted.len()));
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(search: &str, replace: &str, expected: &[&str]) {
        let text = "import a\n\ndef f(x):\n    y = x\n    return y\n\ndef g(x):\n    y = x\n    return -x\n";
        assert_eq!(quotation(text, search, replace), expected);
    }

    #[test]
    fn places() {
        check("    return -x", "    return x", &["def g(x):", "    y = x", "    return -x"]);
        check(
            "    y = x\n    return y",
            "    y = x\n    return x",
            &["def f(x):", "    y = x", "    return y"],
        );
        check("def g(x):", "def g(x, y):", &["def g(x):"]);
        check("import a", "import b", &["import a"]);
        // The searched lines begin before the heading of the changed one.
        check(
            "    return y\n\ndef g(x):",
            "    return y\n\ndef h(x):",
            &["    return y", "", "def g(x):"],
        );
        check("absent", "x", &[]);
        check("", "x", &[]);
        assert_eq!(quotation("    indented\n", "    indented", "x"), ["    indented"]);
    }

    #[test]
    fn changes() {
        let same = |a: &str, b: &str, said: &str| assert_eq!(change(a, b).as_deref(), Some(said));
        same("    x = a - b", "    x = a + b", "replace `a - b` by `a + b`");
        same("    return x", "    return x[1:]", "replace `x` by `x[1:]`");
        same("    if a<b:", "    if a<=b:", "replace `<b` by `<=b`");
        same("a", "b", "replace `a` by `b`");
        same("  x\n  y", "  x\n  z\n  y", "insert `z`");
        same("  x\n  y", "  y", "drop `x`");
        same("  x", "  if x:\n    x", "replace `x` by `if x:`");
        same("x ", "x", "replace `x` by `x`");
        assert_eq!(change("", "new"), None);
    }

    #[test]
    fn long_places_are_shortened() {
        let body: String = (0..30).map(|n| format!("    x{n}\n")).collect();
        let text = format!("def f():\n{body}");
        assert_eq!(quotation(&text, "    x25", "    y"), ["def f():", "    x25"]);
        let search: Vec<String> = (5..25).map(|n| format!("    x{n}")).collect();
        let quoted = quotation(&text, &search.join("\n"), "    y");
        assert_eq!((quoted.len(), quoted[0], quoted[11]), (12, "def f():", "    x15"));
    }
}
