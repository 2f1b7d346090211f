//! What must hold for any bytes: called by the fuzz targets in `fuzz/` and replayed by the tests.

use std::collections::BTreeMap;

use swerl_reward::format::edit_blocks;
use swerl_reward::similarity::{Block, Matcher};
use swerl_reward::{
    Scorer, Target, apply_edits, parse_answer, parse_unidiff, render_answer, score_unidiff,
};

/// Most symbols a side that the naive matcher is asked about.
const NAIVE: usize = 300;

/// The answer parser: never a panic; what it reads can be written and read again.
pub(crate) fn parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(answer) = parse_answer(&text) {
        assert!(!answer.edits.is_empty() && !answer.thought.is_empty());
        let again = render_answer(&answer.thought, &answer.edits);
        if let Ok(again) = parse_answer(&again) {
            assert_eq!(again.edits, answer.edits);
        }
    }
    for edit in edit_blocks(&text).take(64) {
        assert!(text.contains(&edit.path));
    }
}

/// Applying: the first part is a file, the second an answer. The reward is -1 or in [0, 1]; no
/// path appears but those of the context and of the edits.
pub(crate) fn apply(bytes: &[u8]) {
    let (file, answer) = halves(bytes);
    let context = BTreeMap::from([("a.py".to_owned(), file)]);
    let edits: Vec<_> = edit_blocks(&answer).take(64).collect();
    if let Ok(new) = apply_edits(&context, &edits) {
        for path in new.keys() {
            assert!(context.contains_key(path) || edits.iter().any(|edit| &edit.path == path));
        }
    }
    let oracle = BTreeMap::from([("a.py".to_owned(), answer.clone())]);
    let target = Target::new(&context, &oracle);
    for output in [answer.clone(), format!("<think>t</think><solution>{answer}</solution>")] {
        let score = Scorer::new().score(&mut Matcher::new(), &target, &output);
        assert!(score.reward == -1.0 || (0.0..=1.0).contains(&score.reward), "{score}");
        assert_eq!(score.reward == -1.0, !score.is_valid());
    }
}

/// The reader of unified diffs: never a panic; the reward is in [0, 1], and 1 for the same text.
pub(crate) fn diff_reader(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = parse_unidiff(&text);
    let score = score_unidiff(&[&text], &[&text]);
    assert_eq!(score.reward, 1.0);
    assert!(score.is_exact());
    if let Ok(patches) = read {
        assert_eq!(score.similarities.len(), patches.len());
    }
}

/// The matcher: equal to the naive one, with popular symbols and without, whatever was in it.
pub(crate) fn matcher(bytes: &[u8]) {
    let (a, b) = halves(bytes);
    let numbers = |text: &str| -> Vec<u32> {
        text.chars().take(NAIVE).map(|c| u32::from(c) % 1024).collect()
    };
    blocks_agree(&numbers(&a), &numbers(&b));
}

/// The blocks of two sequences of symbols below 1,024 are the naive ones.
pub(crate) fn blocks_agree(a: &[u32], b: &[u32]) {
    let mut matcher = Matcher::new();
    for autojunk in [false, true] {
        let found = matcher.blocks(a, b, 1024, autojunk).to_vec();
        assert_eq!(found, naive(a, b, autojunk), "{a:?} {b:?} {autojunk}");
        // Used memory changes nothing.
        assert_eq!(matcher.blocks(a, b, 1024, autojunk), found);
    }
}

/// Both sides of the first line that is a lone `|`, or of the middle.
fn halves(bytes: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(bytes);
    if let Some((left, right)) = text.split_once("\n|\n") {
        return (left.to_owned(), right.to_owned());
    }
    let (left, right) = text.split_at(text.floor_char_boundary(text.len() / 2));
    (left.to_owned(), right.to_owned())
}

/// difflib's matching blocks by its own definition: all pairs of places in each round.
fn naive(a: &[u32], b: &[u32], autojunk: bool) -> Vec<Block> {
    let count = |symbol| b.iter().filter(|&&other| other == symbol).count();
    let junk = |symbol| autojunk && b.len() >= 200 && count(symbol) > b.len() / 100 + 1;
    let anchors: Vec<bool> = b.iter().map(|&symbol| !junk(symbol)).collect();
    let mut blocks = Vec::new();
    let mut waiting = vec![(0, a.len(), 0, b.len())];
    while let Some((a0, a1, b0, b1)) = waiting.pop() {
        let (mut i, mut j, mut size) = (a0, b0, 0);
        // Per place of b, the length of the match that ends there and at the place of a above.
        let mut above = vec![0; b1 - b0 + 1];
        for (x, symbol) in a.iter().enumerate().take(a1).skip(a0) {
            let mut row = vec![0; b1 - b0 + 1];
            for y in (b0..b1).filter(|&y| *symbol == b[y] && anchors[y]) {
                let length = above[y - b0] + 1;
                row[y - b0 + 1] = length;
                if length > size {
                    (i, j, size) = (x + 1 - length, y + 1 - length, length);
                }
            }
            above = row;
        }
        while i > a0 && j > b0 && a[i - 1] == b[j - 1] {
            (i, j, size) = (i - 1, j - 1, size + 1);
        }
        while i + size < a1 && j + size < b1 && a[i + size] == b[j + size] {
            size += 1;
        }
        if size > 0 {
            blocks.push(Block { a_start: i, b_start: j, size });
            waiting.push((a0, i, b0, j));
            waiting.push((i + size, a1, j + size, b1));
        }
    }
    blocks.sort_unstable();
    blocks.dedup_by(|next, block| {
        let adjacent = block.a_start + block.size == next.a_start
            && block.b_start + block.size == next.b_start;
        if adjacent {
            block.size += next.size;
        }
        adjacent
    });
    blocks
}
