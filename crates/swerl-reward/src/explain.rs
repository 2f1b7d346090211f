//! Why a search text was missed: the lines of the file most like it.
//!
//! Candidates are the places where most lines of the search text, trimmed, stand in the file at
//! the same distance; if no line does, the lines most like its longest line. The best
//! three are compared as whole texts by [`similarity::ratio`](crate::similarity::ratio), ties
//! to the earliest. Bounded: see the constants.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use crate::similarity::Matcher;

/// Most lines of a search text that are looked at.
const SEARCH_LINES: usize = 100;
/// Most lines of a file that are looked at.
const FILE_LINES: usize = 50_000;
/// Most places of one line that vote.
const PLACES: usize = 64;
/// Most characters of a line or window that are compared.
const CHARACTERS: usize = 4000;
/// Most characters of a line that the second sieve compares, whose cost is their square.
const LINE_CHARACTERS: usize = 800;
/// Most bytes of the place's text that are given.
const TEXT: usize = 1 << 16;
/// How many candidate places are compared as whole texts.
const CANDIDATES: usize = 3;
/// How many lines the first sieve keeps when no line is equal.
const SIEVED: usize = 16;
/// Lines less alike than this are no candidates.
const CUTOFF: f64 = 0.5;

/// The place of a file most like a search text that was not found in it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct NearMiss {
    /// The first line of the place, counted from 1, in the file as earlier edits left it.
    pub line: usize,
    /// Similarity of the search text and the place's lines, in `[0, 1]`.
    pub similarity: f64,
    /// The lines of the place joined by LF, as many as the search text has but no more than 100 lines
    /// and 64 KiB.
    pub text: String,
    /// Line by line: "-" searched, "+" found, " " both. In lines that differ, leading and trailing
    /// white space and control characters are drawn: a space as `·`, a tab as `→`, CR as `␍`, a no-break
    /// space as `⍽`, other invisible characters by number.
    pub diff: String,
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, similarity, diff, .. } = self;
        write!(f, "  nearest: line {line}, similarity {similarity:.4}\n{diff}")
    }
}

/// The place of `text` most like `search`, if any line of it is like one of its lines.
///
/// ```
/// let near = swerl_reward::nearest_lines("def f():\n\treturn 1\n", "    return 1").unwrap();
/// assert_eq!(near.line, 2);
/// assert_eq!(near.diff, "-····return 1\n+→return 1");
/// ```
#[must_use]
pub fn nearest_lines(text: &str, search: &str) -> Option<NearMiss> {
    let lines: Vec<&str> = text.split('\n').take(FILE_LINES).collect();
    let wanted: Vec<&str> = search.split('\n').take(SEARCH_LINES).collect();
    let mut starts = by_equal_lines(&lines, &wanted);
    if starts.is_empty() {
        starts = by_like_lines(&lines, &wanted);
    }
    let wanted_text = wanted.join("\n");
    let mut matcher = Matcher::new();
    let mut best: Option<(f64, usize)> = None;
    for start in starts {
        let similarity =
            matcher.ratio(clip(&wanted_text), clip(&window(&lines, start, wanted.len())));
        let better =
            best.is_none_or(|(most, at)| similarity > most || (similarity == most && start < at));
        if better {
            best = Some((similarity, start));
        }
    }
    let (similarity, start) = best?;
    let mut text = window(&lines, start, wanted.len());
    let diff = draw(clip(&wanted_text), clip(&text));
    text.truncate(text.floor_char_boundary(TEXT));
    Some(NearMiss { line: start + 1, similarity, text, diff })
}

fn window(lines: &[&str], start: usize, count: usize) -> String {
    lines[start..lines.len().min(start + count)].join("\n")
}

/// Starts of windows by the number of equal trimmed lines, most first, ties to the earliest.
fn by_equal_lines(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if !line.is_empty() {
            let places = places.entry(line).or_default();
            if places.len() < PLACES {
                places.push(at);
            }
        }
    }
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (offset, line) in wanted.iter().enumerate() {
        for &at in places.get(line.trim()).into_iter().flatten() {
            *votes.entry(at.saturating_sub(offset)).or_default() += 1;
        }
    }
    let mut votes: Vec<(usize, usize)> = votes.into_iter().collect();
    votes.sort_by_key(|&(start, count)| (std::cmp::Reverse(count), start));
    votes.into_iter().take(CANDIDATES).map(|(start, _)| start).collect()
}

/// Starts of windows around the lines most like the longest wanted line.
fn by_like_lines(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let longest = wanted
        .iter()
        .enumerate()
        .max_by_key(|(offset, line)| (line.trim().len(), std::cmp::Reverse(*offset)));
    let Some((offset, word)) = longest.filter(|(_, line)| !line.trim().is_empty()) else {
        return Vec::new();
    };
    let word = clip_to(word, LINE_CHARACTERS);
    let bag = bag_of(word);
    let mut sieved: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| (distance(&bag, &bag_of(clip_to(line, LINE_CHARACTERS))), at))
        .collect();
    sieved.sort_unstable();
    sieved.truncate(SIEVED);
    let possible: Vec<&str> =
        sieved.iter().map(|&(_, at)| clip_to(lines[at], LINE_CHARACTERS)).collect();
    let close = similar::get_close_matches(word, &possible, CANDIDATES, CUTOFF as f32);
    let mut starts: Vec<usize> = sieved
        .iter()
        .filter(|&&(_, at)| close.contains(&clip_to(lines[at], LINE_CHARACTERS)))
        .map(|&(_, at)| at.saturating_sub(offset))
        .collect();
    starts.sort_unstable();
    starts.truncate(CANDIDATES);
    starts
}

/// How often each byte occurs, apart from white space; a bound on likeness that needs no alignment.
fn bag_of(line: &str) -> [u16; 256] {
    let mut bag = [0u16; 256];
    for byte in line.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bag[usize::from(byte)] = bag[usize::from(byte)].saturating_add(1);
    }
    bag
}

fn distance(one: &[u16; 256], other: &[u16; 256]) -> usize {
    one.iter().zip(other).map(|(a, b)| usize::from(a.abs_diff(*b))).sum()
}

/// At most `CHARACTERS` bytes of a text, cut at a character.
fn clip(text: &str) -> &str {
    clip_to(text, CHARACTERS)
}

fn clip_to(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn draw(searched: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (searched.split('\n').collect(), found.split('\n').collect());
    let mut text = String::new();
    for change in TextDiff::from_slices(&old, &new).iter_all_changes() {
        let line = change.value();
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = match change.tag() {
            ChangeTag::Equal => write!(text, " {line}"),
            ChangeTag::Delete => write!(text, "-{}", visible(line)),
            ChangeTag::Insert => write!(text, "+{}", visible(line)),
        };
    }
    text
}

fn visible(line: &str) -> String {
    let start = line.len() - line.trim_start().len();
    let end = line.trim_end().len().max(start);
    let mut text = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        match c {
            ' ' if at < start || at >= end => text.push('·'),
            '\t' => text.push('→'),
            '\r' => text.push('␍'),
            '\u{a0}' => text.push('⍽'),
            ' ' => text.push(' '),
            c if c.is_control() || c.is_whitespace() || is_invisible(c) => {
                text.extend(c.escape_unicode());
            }
            c => text.push(c),
        }
    }
    text
}

/// Characters without width that are neither control characters nor white space.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
