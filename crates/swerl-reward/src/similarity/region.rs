//! Matching blocks, and the parts of two sequences that still wait for theirs.

/// Sides up to this length are short: one word holds a set of their places.
const SHORT: usize = u64::BITS as usize;

/// `size` equal symbols from `a[a_start]` and `b[b_start]` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Index of the first symbol in the first sequence.
    pub a_start: usize,
    /// Index of the first symbol in the second sequence.
    pub b_start: usize,
    /// Number of symbols, at least 1.
    pub size: usize,
}

/// `a[a.0..a.1]` against `b[b.0..b.1]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) a: (usize, usize),
    pub(super) b: (usize, usize),
    /// No match of anchors in it is as long as this.
    pub(super) below: u32,
}

impl Region {
    /// Lengths of the two sides.
    pub(super) fn sides(&self) -> (usize, usize) {
        (self.a.1 - self.a.0, self.b.1 - self.b.0)
    }

    /// Whether one side fits into a word.
    pub(super) fn short(&self) -> bool {
        let (a, b) = self.sides();
        a.min(b) <= SHORT
    }
}

/// The regions still to do. One that cannot hold a match is not kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions {
    waiting: Vec<Region>,
    /// Whether symbols that anchor no match may still extend one.
    extends: bool,
}

impl Regions {
    /// Starts with one region.
    pub(super) fn start(&mut self, region: Region, extends: bool) {
        self.extends = extends;
        self.waiting.clear();
        self.push(region);
    }

    pub(super) fn push(&mut self, region: Region) {
        let (a, b) = region.sides();
        if a > 0 && b > 0 && (region.below > 1 || self.extends) {
            self.waiting.push(region);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Region> {
        self.waiting.pop()
    }
}
