//! The normalised patch of a file: rule R6.
//!
//! Equal to CPython's `difflib.unified_diff` with three lines of context over
//! `str.splitlines`, its two file header lines dropped, joined by LF, an empty text for equal
//! lines. The line matcher has `autojunk` on: from 200 lines on the new side, a line that
//! occurs more than `n / 100 + 1` times there is no anchor.
//!
//! A consequence of line splitting: line ends themselves, and a final line break, are not seen.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::lines::split_lines;
use crate::similarity::{Block, Matcher};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// The normalised patch from `old` to `new`; "" if no line differs.
///
/// ```
/// assert_eq!(swerl_reward::unified_patch("a\nb\n", "a\nc"), "@@ -1,2 +1,2 @@\n a\n-b\n+c");
/// ```
#[must_use]
pub fn unified_patch(old: &str, new: &str) -> String {
    unified_patch_with(&mut Matcher::new(), old, new)
}

/// [`unified_patch`] with the scratch memory of a matcher.
#[must_use]
pub fn unified_patch_with(matcher: &mut Matcher, old: &str, new: &str) -> String {
    if old == new || matcher.late() {
        return String::new();
    }
    let (old, new) = (split_lines(old), split_lines(new));
    if old == new {
        return String::new();
    }
    let (a, b, symbols) = numbered(&old, &new);
    let blocks = matcher.blocks(&a, &b, symbols, true);
    render(&old, &new, &changes(blocks, old.len(), new.len()))
}

/// Lines as numbers, equal ones alike, by first appearance; and how many numbers there are.
pub(crate) fn numbered(old: &[&str], new: &[&str]) -> (Vec<u32>, Vec<u32>, usize) {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut number = |line| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    let a = old.iter().map(|line| number(*line)).collect();
    let b = new.iter().map(|line| number(*line)).collect();
    let symbols = numbers.len();
    (a, b, symbols)
}

/// The patches of all files of `new` that differ from the context, by path.
///
/// A path outside the context is a new file; "" is a deleted one.
#[must_use]
pub fn normalized_patches(
    context: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    normalized_patches_with(&mut Matcher::new(), context, new)
}

pub(crate) fn normalized_patches_with(
    matcher: &mut Matcher,
    context: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut patches = BTreeMap::new();
    for (path, text) in new {
        let old = context.get(path).map_or("", String::as_str);
        let patch = unified_patch_with(matcher, old, text);
        if !patch.is_empty() {
            patches.insert(path.clone(), patch);
        }
    }
    patches
}

/// Half-open ranges of lines that differ: old ones, then new ones; never both empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: (usize, usize),
    pub(crate) new: (usize, usize),
}

/// What lies between the matching blocks.
pub(crate) fn changes(blocks: &[Block], old_len: usize, new_len: usize) -> Vec<Change> {
    let mut found = Vec::new();
    let (mut i, mut j) = (0, 0);
    let end = Block { a_start: old_len, b_start: new_len, size: 0 };
    for block in blocks.iter().chain([&end]) {
        if i < block.a_start || j < block.b_start {
            found.push(Change { old: (i, block.a_start), new: (j, block.b_start) });
        }
        (i, j) = (block.a_start + block.size, block.b_start + block.size);
    }
    found
}

fn render(old: &[&str], new: &[&str], changes: &[Change]) -> String {
    let mut text = String::new();
    // A hunk ends where more than two contexts of equal lines follow.
    for hunk in changes.chunk_by(|one, next| next.old.0 - one.old.1 <= 2 * CONTEXT) {
        let (first, last) = (hunk[0], hunk[hunk.len() - 1]);
        let before = CONTEXT.min(first.old.0);
        let after = CONTEXT.min(old.len() - last.old.1);
        let old_range = range(first.old.0 - before, last.old.1 + after);
        let new_range = range(first.new.0 - before, last.new.1 + after);
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "@@ -{old_range} +{new_range} @@");
        let mut equal_from = first.old.0 - before;
        for change in hunk {
            push_lines(&mut text, ' ', &old[equal_from..change.old.0]);
            push_lines(&mut text, '-', &old[change.old.0..change.old.1]);
            push_lines(&mut text, '+', &new[change.new.0..change.new.1]);
            equal_from = change.old.1;
        }
        push_lines(&mut text, ' ', &old[equal_from..equal_from + after]);
    }
    text
}

fn push_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push('\n');
        text.push(sign);
        text.push_str(line);
    }
}

/// "N" for one line, else "N,L"; an empty range names the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}
