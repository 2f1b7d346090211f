//! A file and two revisions of it, like those whose patches the reward compares.
//!
//! The file is a piece of this workspace's own sources. The oracle's change and the prediction's
//! share some edits and differ in others, so that their patches are alike but not equal.

use std::path::Path;

use swerl_reward::unified_patch;

const NOUNS: [&str; 8] = ["value", "index", "text", "line", "path", "name", "count", "self"];

/// Counter-based draws (splitmix64): the n-th draw of a seed is always the same.
#[derive(Clone, Debug)]
pub struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    /// The draws of one seed, from the first on.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.count += 1;
        let mut x = self.seed.wrapping_add(self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound as u64) as usize
    }
}

/// A copy with about one line in `every` changed, dropped or added.
fn change(lines: &[String], every: usize, draws: &mut Draws) -> Vec<String> {
    let mut changed = Vec::with_capacity(lines.len());
    for old in lines {
        if draws.below(every) > 0 {
            changed.push(old.clone());
            continue;
        }
        match draws.below(4) {
            0 => {}
            1 => changed.extend([old.clone(), lines[draws.below(lines.len())].clone()]),
            2 => changed.push(lines[draws.below(lines.len())].clone()),
            _ => {
                let (from, to) = (NOUNS[draws.below(NOUNS.len())], NOUNS[draws.below(NOUNS.len())]);
                changed.push(old.replace(from, to).replace('(', "(&"));
            }
        }
    }
    changed
}

/// One file and what two changes made of it.
#[derive(Clone, Debug)]
pub struct Revisions {
    /// The file before.
    pub old: String,
    /// The file as merged.
    pub oracle: String,
    /// The file as predicted.
    pub predicted: String,
}

/// `lines` lines of this workspace's own sources and two revisions of them: the same for a seed.
///
/// # Panics
/// If the sources cannot be read.
#[must_use]
pub fn revisions(lines: usize, seed: u64) -> Revisions {
    let mut draws = Draws::new(seed);
    let sources = sources();
    let start = draws.below(sources.len());
    let old: Vec<String> = sources.iter().cycle().skip(start).take(lines).cloned().collect();
    let shared = change(&old, 9, &mut draws);
    let oracle = change(&shared, 30, &mut draws);
    let predicted = change(&shared, 30, &mut draws);
    let text = |lines: &[String]| lines.join("\n") + "\n";
    Revisions { old: text(&old), oracle: text(&oracle), predicted: text(&predicted) }
}

/// The ASCII lines of the sources of swerl-reward and swerl-data, files in the order of their paths.
fn sources() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut waiting = vec![crates.join("swerl-reward/src"), crates.join("swerl-data/src")];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("the sources are beside the benches") {
            let path = entry.expect("the sources are readable").path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("sources are text");
        lines.extend(text.lines().filter(|line| line.is_ascii()).map(str::to_owned));
    }
    lines
}

/// A predicted and an oracle patch, cut to the same number of (ASCII) characters.
#[must_use]
pub fn patch_pair(characters: usize, seed: u64) -> (String, String) {
    let mut lines = characters / 12 + 20;
    loop {
        let Revisions { old, oracle, predicted } = revisions(lines, seed);
        let (mut predicted, mut oracle) =
            (unified_patch(&old, &predicted), unified_patch(&old, &oracle));
        if predicted.len() >= characters && oracle.len() >= characters {
            predicted.truncate(characters);
            oracle.truncate(characters);
            return (predicted, oracle);
        }
        lines *= 2;
    }
}
