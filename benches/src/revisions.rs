//! A file and two revisions of it, like those whose patches the reward compares.
//!
//! The file is Python-like code of made-up names. The oracle's change and the prediction's share
//! some edits and differ in others, so that their patches are alike but not equal.

const VERBS: [&str; 12] = [
    "load", "merge", "split", "parse", "check", "fetch", "apply", "render", "count", "close",
    "reset", "build",
];
const NOUNS: [&str; 14] = [
    "record", "header", "window", "buffer", "cache", "index", "token", "branch", "total", "margin",
    "entry", "value", "limit", "offset",
];
const OPERATORS: [&str; 8] = ["+", "-", "*", "//", "==", "<=", ">", "and"];

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

    fn name(&mut self) -> String {
        let (verb, noun) = (self.below(VERBS.len()), self.below(NOUNS.len()));
        match self.below(3) {
            0 => NOUNS[noun].to_owned(),
            1 => format!("{}_{}", VERBS[verb], NOUNS[noun]),
            _ => format!("{}_{}", NOUNS[noun], self.below(40)),
        }
    }
}

/// One statement at an indentation, sometimes the head of a function.
fn line(draws: &mut Draws) -> String {
    let indent = "    ".repeat(1 + draws.below(3));
    let (a, b, c) = (draws.name(), draws.name(), draws.name());
    let operator = OPERATORS[draws.below(OPERATORS.len())];
    match draws.below(9) {
        0 => format!("def {a}(self, {b}, {c}=None):"),
        1 => String::new(),
        2 => format!("{indent}if {a} {operator} {b}:"),
        3 => format!("{indent}return {a}({b}, {c}[{}])", draws.below(9)),
        4 => format!("{indent}for {a} in self.{b}({c}):"),
        5 => format!("{indent}self.{a} = {b} {operator} {c}"),
        6 => format!(
            "{indent}# {} the {} before the {}",
            VERBS[draws.below(12)],
            NOUNS[draws.below(14)],
            c
        ),
        _ => format!("{indent}{a} = {b}.{c}({:?})", NOUNS[draws.below(14)]),
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
            1 => changed.extend([old.clone(), line(draws)]),
            2 => changed.push(line(draws)),
            _ => {
                let (from, to) = (NOUNS[draws.below(NOUNS.len())], NOUNS[draws.below(NOUNS.len())]);
                changed.push(old.replace(from, to).replace("self.", "this."));
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

/// A file of `lines` lines (about 26 ASCII characters each) and its revisions: the same for a seed.
#[must_use]
pub fn revisions(lines: usize, seed: u64) -> Revisions {
    let mut draws = Draws::new(seed);
    let old: Vec<String> = (0..lines).map(|_| line(&mut draws)).collect();
    let shared = change(&old, 9, &mut draws);
    let oracle = change(&shared, 30, &mut draws);
    let predicted = change(&shared, 30, &mut draws);
    let text = |lines: &[String]| lines.join("\n") + "\n";
    Revisions { old: text(&old), oracle: text(&oracle), predicted: text(&predicted) }
}
