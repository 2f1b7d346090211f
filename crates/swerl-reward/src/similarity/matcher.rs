//! difflib's matching blocks in near-linear time.
//!
//! One round works on a region `a[i0..i1]`, `b[j0..j1]`. It builds the suffix automaton of the
//! `b` side, walks the `a` side through it and so learns the greatest length `K` of a common
//! substring and every place of `a` where one of that length ends. difflib would take the
//! earliest of them, then look at both sides. What it does next is known without asking
//! again: to the left nothing of length `K` is left (it would have been earlier), and to the
//! right the longest is `K` again, as long as one exists. So a round takes the whole chain
//! of blocks of length `K` from left to right, and leaves the gaps between them as regions
//! whose longest match is shorter than `K`.
//!
//! Cost: a round is linear in its region; the regions of one depth are disjoint; the lengths
//! `K` along a path of rounds are distinct, and all of them fit into the text. Hence
//! `O((|a| + |b|) sqrt(min(|a|, |b|)))` at worst, whatever the text, and a few passes on real patches.
//! Memory is linear and kept for the next call.
//!
//! `autojunk` (for lines): symbols that are too frequent anchor no match, but a match is
//! extended over them on both sides afterwards, within its region, as difflib does it.

use super::automaton::{Automaton, BREAK, NONE, ROOT};
use super::interner::Interner;
use super::small::{self, NO_ANCHOR, NOTHING};

/// Regions with a side of at most this many symbols, or with at most `SMALL_AREA` pairs of
/// symbols, use the plain table, where the symbols fit into 16 bits.
const SMALL_SIDE: usize = 24;
const SMALL_AREA: usize = 16_384;

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

#[derive(Clone, Copy, Debug)]
struct Region {
    a: (usize, usize),
    b: (usize, usize),
}

/// Finds matching blocks; owns the scratch memory, which grows to the longest texts seen.
///
/// ```
/// use swerl_reward::similarity::Matcher;
/// let mut matcher = Matcher::new();
/// assert_eq!(matcher.ratio("abxcd", "abcd"), 8.0 / 9.0);
/// assert_eq!(matcher.ratio("", ""), 1.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    interner: Interner,
    a: Vec<u32>,
    b: Vec<u32>,
    blocks: Vec<Block>,
    rounds: Rounds,
}

/// Everything a round needs besides the two sequences.
#[derive(Clone, Debug, Default)]
struct Rounds {
    regions: Vec<Region>,
    automaton: Automaton,
    /// Per symbol: popular, so no anchor. Empty: none is.
    popular: Vec<bool>,
    /// Per symbol of a region: its number there, valid where `stamp` is the round's.
    local: Vec<u32>,
    stamp: Vec<u32>,
    round: u32,
    /// Places of `a` where a longest match ends, with its state.
    ends: Vec<(u32, u32)>,
    /// Per state, the first and per position of `b` the next place where its match ends.
    head: Vec<u32>,
    next: Vec<u32>,
    counts: Vec<u32>,
    /// Both sequences in 16 bits, empty where there are too many symbols.
    narrow_a: Vec<u16>,
    narrow_b: Vec<u16>,
    rows: small::Rows,
}

impl Matcher {
    /// A matcher without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The ratio of difflib over code points, `autojunk` off: see [`crate::similarity`].
    #[must_use]
    pub fn ratio(&mut self, a: &str, b: &str) -> f64 {
        if a == b {
            return 1.0;
        }
        self.interner.clear();
        self.a.clear();
        self.b.clear();
        let Self { interner, a: left, b: right, blocks, rounds } = self;
        left.extend(a.chars().map(|c| interner.number(c)));
        right.extend(b.chars().map(|c| interner.number(c)));
        rounds.popular.clear();
        blocks.clear();
        rounds.run(left, right, interner.count(), blocks);
        let matches: usize = blocks.iter().map(|block| block.size).sum();
        2.0 * matches as f64 / (left.len() + right.len()) as f64
    }

    /// The matching blocks of two sequences of symbols `0..symbols`, in order, adjacent ones joined.
    ///
    /// With `autojunk`, from 200 symbols in `b` on, one that occurs more than
    /// `|b| / 100 + 1` times in `b` anchors no match.
    ///
    /// # Panics
    /// If a symbol is not below `symbols`.
    pub fn blocks(&mut self, a: &[u32], b: &[u32], symbols: usize, autojunk: bool) -> &[Block] {
        let rounds = &mut self.rounds;
        rounds.popular.clear();
        if autojunk && b.len() >= 200 {
            rounds.counts.clear();
            rounds.counts.resize(symbols, 0);
            for &symbol in b {
                rounds.counts[symbol as usize] += 1;
            }
            let most = b.len() / 100 + 1;
            rounds.popular.extend(rounds.counts.iter().map(|&count| count as usize > most));
        }
        self.blocks.clear();
        rounds.run(a, b, symbols, &mut self.blocks);
        self.blocks.sort_unstable();
        self.blocks.dedup_by(|next, block| {
            let adjacent = block.a_start + block.size == next.a_start
                && block.b_start + block.size == next.b_start;
            if adjacent {
                block.size += next.size;
            }
            adjacent
        });
        &self.blocks
    }
}

impl Rounds {
    fn run(&mut self, a: &[u32], b: &[u32], symbols: usize, blocks: &mut Vec<Block>) {
        self.local.clear();
        self.local.resize(symbols, NONE);
        self.stamp.clear();
        self.stamp.resize(symbols, 0);
        self.round = 0;
        let narrow = self.narrow(a, b, symbols);
        self.regions.clear();
        self.regions.push(Region { a: (0, a.len()), b: (0, b.len()) });
        while let Some(region) = self.regions.pop() {
            let sides = (region.a.1 - region.a.0, region.b.1 - region.b.0);
            if sides.0 == 0 || sides.1 == 0 {
                continue;
            }
            let small =
                sides.0.min(sides.1) <= SMALL_SIDE || sides.0.saturating_mul(sides.1) <= SMALL_AREA;
            if small && narrow {
                self.small_round(a, b, region, blocks);
            } else {
                self.round(a, b, region, blocks);
            }
        }
    }

    fn anchors(popular: &[bool], symbol: u32) -> bool {
        !popular.get(symbol as usize).is_some_and(|&popular| popular)
    }

    /// Copies both sequences in 16 bits for the plain table; false where there are too many symbols.
    fn narrow(&mut self, a: &[u32], b: &[u32], symbols: usize) -> bool {
        self.narrow_a.clear();
        self.narrow_b.clear();
        if symbols > usize::from(NO_ANCHOR) {
            return false;
        }
        let popular = &self.popular;
        let copy =
            |symbol: u32, none| if Self::anchors(popular, symbol) { symbol as u16 } else { none };
        self.narrow_a.extend(a.iter().map(|&symbol| copy(symbol, NOTHING)));
        self.narrow_b.extend(b.iter().map(|&symbol| copy(symbol, NO_ANCHOR)));
        true
    }

    fn small_round(&mut self, a: &[u32], b: &[u32], region: Region, blocks: &mut Vec<Block>) {
        let left = &self.narrow_a[region.a.0..region.a.1];
        let right = &self.narrow_b[region.b.0..region.b.1];
        let (i, j, size) = small::longest(left, right, &mut self.rows);
        let found = Block { a_start: region.a.0 + i, b_start: region.b.0 + j, size };
        if let Some(rest) = self.take(a, b, region, found, blocks) {
            self.regions.push(rest);
        }
    }

    /// Extends a match over popular symbols within its region, records it, queues the region
    /// to its left and gives the region to its right; `None` where nothing matched.
    fn take(
        &mut self,
        a: &[u32],
        b: &[u32],
        region: Region,
        found: Block,
        blocks: &mut Vec<Block>,
    ) -> Option<Region> {
        let Block { a_start: mut i, b_start: mut j, mut size } = found;
        if !self.popular.is_empty() {
            while i > region.a.0 && j > region.b.0 && a[i - 1] == b[j - 1] {
                (i, j, size) = (i - 1, j - 1, size + 1);
            }
            while i + size < region.a.1 && j + size < region.b.1 && a[i + size] == b[j + size] {
                size += 1;
            }
        }
        if size == 0 {
            return None;
        }
        blocks.push(Block { a_start: i, b_start: j, size });
        if region.a.0 < i && region.b.0 < j {
            self.regions.push(Region { a: (region.a.0, i), b: (region.b.0, j) });
        }
        Some(Region { a: (i + size, region.a.1), b: (j + size, region.b.1) })
    }

    fn round(&mut self, a: &[u32], b: &[u32], region: Region, blocks: &mut Vec<Block>) {
        self.build(&a[region.a.0..region.a.1], &b[region.b.0..region.b.1]);
        let size = self.walk(&a[region.a.0..region.a.1]);
        if size == 0 {
            // Only popular symbols can still match, at the start of the region.
            let found = Block { a_start: region.a.0, b_start: region.b.0, size };
            if let Some(rest) = self.take(a, b, region, found, blocks) {
                self.regions.push(rest);
            }
            return;
        }
        let mut rest = region;
        let mut listed = false;
        for at in 0..self.ends.len() {
            let (end, state) = self.ends[at];
            let i = region.a.0 + end as usize + 1 - size;
            if i < rest.a.0 {
                continue;
            }
            let first = self.automaton.states[state as usize].first_end;
            let mut j = region.b.0 + first as usize + 1 - size;
            if j < rest.b.0 {
                if !listed {
                    self.list_ends(&b[region.b.0..region.b.1], size);
                    listed = true;
                }
                match self.end_from(state, (rest.b.0 - region.b.0 + size - 1) as u32) {
                    Some(end) => j = region.b.0 + end as usize + 1 - size,
                    None => continue,
                }
            }
            if j + size > rest.b.1 {
                continue;
            }
            let found = Block { a_start: i, b_start: j, size };
            match self.take(a, b, rest, found, blocks) {
                Some(right) => rest = right,
                None => return,
            }
        }
        self.regions.push(rest);
    }

    /// Numbers the symbols that both sides have and builds the automaton of `b`.
    fn build(&mut self, a: &[u32], b: &[u32]) {
        // Two stamps a round: "seen in a", then "numbered".
        self.round += 2;
        let (seen, numbered) = (self.round - 1, self.round);
        for &symbol in a {
            self.stamp[symbol as usize] = seen;
        }
        let mut count = 0;
        for &symbol in b {
            let at = symbol as usize;
            if self.stamp[at] == seen && Self::anchors(&self.popular, symbol) {
                self.stamp[at] = numbered;
                self.local[at] = count;
                count += 1;
            }
        }
        self.automaton.reset(count);
        let mut last = ROOT;
        for (end, &symbol) in b.iter().enumerate() {
            last = self.automaton.extend(
                last,
                Self::number(&self.stamp, &self.local, numbered, symbol),
                end as u32,
            );
        }
    }

    fn number(stamp: &[u32], local: &[u32], numbered: u32, symbol: u32) -> u32 {
        if stamp[symbol as usize] == numbered { local[symbol as usize] } else { BREAK }
    }

    /// Walks `a`; gives the greatest match length and fills `ends` with all places that reach it.
    fn walk(&mut self, a: &[u32]) -> usize {
        self.ends.clear();
        let (mut state, mut len, mut best) = (ROOT, 0u32, 1u32);
        for (end, &symbol) in a.iter().enumerate() {
            let symbol = Self::number(&self.stamp, &self.local, self.round, symbol);
            if symbol == BREAK {
                (state, len) = (ROOT, 0);
                continue;
            }
            loop {
                if let Some(next) = self.automaton.next(state, symbol) {
                    (state, len) = (next, len + 1);
                    break;
                }
                // The root has a way out for every numbered symbol, so the loop ends there.
                state = self.automaton.states[state as usize].link;
                len = self.automaton.states[state as usize].len;
            }
            if len > best {
                best = len;
                self.ends.clear();
            }
            if len == best {
                self.ends.push((end as u32, state));
            }
        }
        if self.ends.is_empty() { 0 } else { best as usize }
    }

    /// Lists, per state of a substring of length `size`, all its ends in `b`, ascending.
    fn list_ends(&mut self, b: &[u32], size: usize) {
        let states = &self.automaton.states;
        self.head.clear();
        self.head.resize(states.len(), NONE);
        self.next.clear();
        self.next.resize(b.len(), NONE);
        // First the state of every end (kept in `next`), then the lists from the right.
        let (mut state, mut len) = (ROOT, 0u32);
        for (end, &symbol) in b.iter().enumerate() {
            let symbol = Self::number(&self.stamp, &self.local, self.round, symbol);
            if symbol == BREAK {
                (state, len) = (ROOT, 0);
                continue;
            }
            state = self
                .automaton
                .next(state, symbol)
                .expect("every substring of b is in its automaton");
            len += 1;
            while states[state as usize].link != NONE
                && states[states[state as usize].link as usize].len as usize >= size
            {
                state = states[state as usize].link;
                len = states[state as usize].len.min(len);
            }
            if len as usize >= size {
                self.next[end] = state;
            }
        }
        for end in (0..b.len()).rev() {
            let state = self.next[end];
            if state != NONE {
                self.next[end] = self.head[state as usize];
                self.head[state as usize] = end as u32;
            }
        }
    }

    /// The first end of the state's match at or after `from`. Ends before it are dropped for good.
    fn end_from(&mut self, state: u32, from: u32) -> Option<u32> {
        let mut end = self.head[state as usize];
        while end != NONE && end < from {
            end = self.next[end as usize];
        }
        self.head[state as usize] = end;
        (end != NONE).then_some(end)
    }
}
