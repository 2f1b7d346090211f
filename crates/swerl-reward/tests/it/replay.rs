//! The fuzz corpus, replayed: every seed text, and mutations of it that are always the same.

use std::path::Path;

#[path = "../fuzz/checks.rs"]
mod checks;

/// Mutations of each seed text.
const MUTATIONS: u64 = 60;

fn replay(check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(texts.len() >= 12, "the corpus has {} texts", texts.len());
    for (number, text) in texts.iter().enumerate() {
        check(text);
        for mutation in 0..MUTATIONS {
            check(&mutated(text, &texts, number as u64 * MUTATIONS + mutation));
        }
    }
}

/// A few cuts, copies, flips and pieces of other texts, drawn by counter.
fn mutated(text: &[u8], others: &[Vec<u8>], stream: u64) -> Vec<u8> {
    let mut count = 0u64;
    let mut below = |bound: usize| {
        count += 1;
        let mut x = (stream << 16 | count).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((x ^ (x >> 31)) % bound.max(1) as u64) as usize
    };
    let mut text = text.to_vec();
    for _ in 0..=below(4) {
        let at = below(text.len() + 1);
        let end = (at + below(40)).min(text.len());
        match below(5) {
            0 => drop(text.drain(at..end)),
            1 => {
                let piece = text[at..end].to_vec();
                let to = below(text.len() + 1);
                text.splice(to..to, piece);
            }
            2 if at < text.len() => text[at] ^= 1 << below(8),
            3 => text.insert(at, [b'\n', b' ', 0, b'`', b'<', 0xff][below(6)]),
            _ => {
                let other = &others[below(others.len())];
                let from = below(other.len() + 1);
                let piece = other[from..(from + below(60)).min(other.len())].to_vec();
                text.splice(at..at, piece);
            }
        }
    }
    text
}

#[test]
fn parser() {
    replay(checks::parser);
}

#[test]
fn apply() {
    replay(checks::apply);
}

#[test]
fn diff_reader() {
    replay(checks::diff_reader);
}

#[test]
fn matcher() {
    replay(checks::matcher);
}

/// Texts without long common parts, which the table of short runs is for, and mixtures of both.
#[test]
fn matcher_on_random_symbols() {
    let mut state = 7u64;
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for alphabet in [2, 3, 5, 12, 30, 60, 100, 300, 1000] {
        for case in 0..12 {
            let length = 130 + below(250);
            let mut text = || -> Vec<u32> {
                // No symbol next to one of its own kind in every third case.
                (0..length)
                    .map(|n| ((below(alphabet) + n % (1 + case % 3)) % 1024) as u32)
                    .collect()
            };
            let (a, mut b) = (text(), text());
            if case % 4 == 3 {
                let at = below(100) as usize;
                b[at..at + 20].copy_from_slice(&a[40..60]);
            }
            checks::blocks_agree(&a, &b);
        }
    }
}
