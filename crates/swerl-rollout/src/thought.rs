//! A thought for supervised answers that have none: where the change belongs.
//!
//! A merged change comes without the reasoning that led to it. What can be said of any change is
//! its place, and reading the code at the place before editing it is what a policy has to learn first.

use swerl_data::SeedExample;
use swerl_reward::{Edit, minimal_edits};

/// Most lines quoted of one place.
const QUOTED: usize = 12;

/// The places that the oracle of `seed` changes, each as the path of its file and the code read
/// there: from the line that heads the place to the last line that the edit searches.
///
/// The heading is the last line at or before the place that begins with a letter or `_` (which is
/// what `git diff` writes behind a hunk's `@@`). Where more than 12 lines would be quoted, those
/// between the heading and the searched ones are left out. New files have a path alone.
///
/// ```text
/// src/total.py
/// def total(values):
///     result = 1
/// ```
#[must_use]
pub fn location_thought(seed: &SeedExample) -> String {
    let context = seed.context();
    let mut lines: Vec<&str> = Vec::new();
    let edits = minimal_edits(&context, &seed.oracle);
    let mut last = "";
    for edit in &edits {
        if edit.path != last {
            lines.push(&edit.path);
            last = &edit.path;
        }
        if let Some(text) = context.get(&edit.path) {
            lines.extend(location(text, edit));
        }
    }
    lines.join("\n")
}

/// The code that [`location_thought`] quotes for one edit of a file with `text`; nothing where the
/// edit searches nothing.
#[must_use]
pub fn location<'t>(text: &'t str, edit: &Edit) -> Vec<&'t str> {
    quotation(text, &edit.search, &edit.replace)
}

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
    fn long_places_are_shortened() {
        let body: String = (0..30).map(|n| format!("    x{n}\n")).collect();
        let text = format!("def f():\n{body}");
        assert_eq!(quotation(&text, "    x25", "    y"), ["def f():", "    x25"]);
        let search: Vec<String> = (5..25).map(|n| format!("    x{n}")).collect();
        let quoted = quotation(&text, &search.join("\n"), "    y");
        assert_eq!((quoted.len(), quoted[0], quoted[11]), (12, "def f():", "    x15"));
    }
}
