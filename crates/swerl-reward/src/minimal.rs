//! The shortest answer that makes a given change: the oracle's text for supervised training.
//!
//! One edit per changed hunk. Its search text is whole lines, begins exactly one line of the text
//! it is applied to (the file with the edits before it), and has as few lines as that allows;
//! of two equally short ones the one with more lines before the change; hunks whose search texts would run into each other become one edit.
//!
//! Lines are cut at LF alone here, as edits are matched, so line ends and a missing final
//! line break are carried over exactly. What the format cannot express (see
//! [`render_answer`](crate::render_answer)) is not avoided: score the rendered answer to know.

use std::collections::BTreeMap;

use crate::format::Edit;
use crate::patch::{Change, changes, numbered};
use crate::similarity::Matcher;

/// Up to this many lines of surroundings all splits into before and after are tried.
const EXHAUSTIVE: usize = 12;

/// Edits that turn the context into `new` (path to full new text), by path, then by place.
///
/// Applying them gives exactly `new` for every path whose text differs from the context's;
/// equal texts need no edit. "" deletes the text of a file.
///
/// ```
/// use std::collections::BTreeMap;
/// let file = |text: &str| BTreeMap::from([("a.py".to_owned(), text.to_owned())]);
/// let (old, new) = (file("x = 1\nx = 1\ny = 2\n"), file("x = 1\nx = 3\ny = 2\n"));
/// let edits = swerl_reward::minimal_edits(&old, &new);
/// assert_eq!((edits[0].search.as_str(), edits[0].replace.as_str()), ("x = 1\nx = 1", "x = 1\nx = 3"));
/// ```
#[must_use]
pub fn minimal_edits(
    context: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> Vec<Edit> {
    let mut matcher = Matcher::new();
    let mut edits = Vec::new();
    for (path, text) in new {
        let old = context.get(path).map_or("", String::as_str);
        if old != text {
            file_edits(&mut matcher, path, old, text, &mut edits);
        }
    }
    edits
}

fn file_edits(matcher: &mut Matcher, path: &str, old: &str, new: &str, edits: &mut Vec<Edit>) {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let (a, b, symbols) = numbered(&old, &new);
    let mut hunks = changes(matcher.blocks(&a, &b, symbols, false), old.len(), new.len());
    hunks.reverse();
    while let Some(mut hunk) = hunks.pop() {
        loop {
            let after_most = hunks.last().map_or(old.len(), |next| next.old.0) - hunk.old.1;
            if let Some((before, after)) = surroundings(&old, &new, hunk, after_most) {
                // Before the hunk the text is already the new one, behind it both are equal.
                let mut search = new[hunk.new.0 - before..hunk.new.0].to_vec();
                search.extend_from_slice(&old[hunk.old.0..hunk.old.1 + after]);
                let search = search.join("\n");
                let replace = new[hunk.new.0 - before..hunk.new.1 + after].join("\n");
                edits.push(Edit { path: path.to_owned(), search, replace });
                break;
            }
            let next = hunks
                .pop()
                .expect("with all of the file as surroundings the search text is unique");
            hunk = Change { old: (hunk.old.0, next.old.1), new: (hunk.new.0, next.new.1) };
        }
    }
}

/// The fewest lines before and after a hunk that make its search text unique, if the lines up to
/// the next hunk suffice. The lines before it are already the new ones.
fn surroundings(
    old: &[&str],
    new: &[&str],
    hunk: Change,
    after_most: usize,
) -> Option<(usize, usize)> {
    // The working text as the edit meets it: new lines up to the hunk, old ones from there.
    let mut working = String::new();
    for line in new[..hunk.new.0].iter().chain(&old[hunk.old.0..]) {
        working.push('\n');
        working.push_str(line);
    }
    let fits = |before: usize, after: usize| {
        let search = (hunk.new.0 - before..hunk.new.0).map(|at| new[at]);
        let search = search.chain(old[hunk.old.0..hunk.old.1 + after].iter().copied());
        let mut needle = String::new();
        for line in search {
            needle.push('\n');
            needle.push_str(line);
        }
        // Removing or adding whole lines needs a line to hold on to.
        let held = before + after > 0 || (hunk.old.0 < hunk.old.1 && hunk.new.0 < hunk.new.1);
        held && working.matches(&needle).take(2).count() == 1 && !overlaps_itself(&working, &needle)
    };
    let before_most = hunk.new.0;
    for total in 0..=EXHAUSTIVE.min(before_most + after_most) {
        let splits = total.saturating_sub(after_most)..=total.min(before_most);
        if let Some(before) = splits.rev().find(|&before| fits(before, total - before)) {
            return Some((before, total - before));
        }
    }
    let mut width = EXHAUSTIVE;
    loop {
        let (before, after) = (width.min(before_most), width.min(after_most));
        if fits(before, after) {
            return Some((before, after));
        }
        if before == before_most && after == after_most {
            return None;
        }
        width *= 2;
    }
}

/// Whether a second, overlapping match exists: then "the" match would be an accident of order.
fn overlaps_itself(working: &str, needle: &str) -> bool {
    working.find(needle).is_some_and(|first| working[first + 1..].contains(needle))
}
