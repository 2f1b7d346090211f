//! The longest match where one side is short, by one machine word per symbol of the other.
//!
//! Bit `j` of row `i` says that a match of a given length ends at `long[i]`, `short[j]`. The rows
//! of length 1 come from a table of where each symbol stands in the short side; those of length
//! `x + y` are the rows of `x` joined with those of `y` moved by `x`. Doubling the length while
//! any bit is left, then refining it, finds the longest match in `O(|long| log K)` word
//! operations, all its places with it.

use std::ops::{BitAnd, BitOrAssign, Shl};

/// An unsigned integer used as a set of positions in the short side.
pub(super) trait Word:
    Copy + Default + PartialEq + BitAnd<Output = Self> + BitOrAssign + Shl<usize, Output = Self>
{
    /// Positions in a word.
    const BITS: usize;
    /// The set that holds position 0.
    const ONE: Self;
    /// The set of all positions.
    const ALL: Self;
    /// The smallest position, where there is one.
    fn lowest(self) -> usize;
}

macro_rules! word {
    ($type:ty) => {
        impl Word for $type {
            const BITS: usize = <$type>::BITS as usize;
            const ONE: Self = 1;
            const ALL: Self = <$type>::MAX;
            #[inline]
            fn lowest(self) -> usize {
                self.trailing_zeros() as usize
            }
        }
    };
}
word!(u64);
word!(u128);

/// The table and the rows, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits<W> {
    /// Per symbol, where it stands in the short side; empty sets between calls.
    places: Vec<W>,
    /// The rows of length 1, 2, 4, ...
    levels: Vec<Vec<W>>,
    /// The rows of the longest match, and of the length that is tried.
    best: Vec<W>,
    trial: Vec<W>,
}

impl<W: Word> Bits<W> {
    /// Makes room for symbols `0..symbols`.
    pub(super) fn reset(&mut self, symbols: usize) {
        if self.places.len() < symbols {
            self.places.resize(symbols, W::default());
        }
    }

    /// The length of the longest match of anchors, 0 if there is none; its places stay in `self`.
    ///
    /// `short` must not be longer than a word, and its symbols below the number given to `reset`.
    pub(super) fn longest(
        &mut self,
        long: &[u32],
        short: &[u32],
        anchors: impl Fn(u32) -> bool,
    ) -> usize {
        debug_assert!(short.len() <= W::BITS);
        for (j, &symbol) in short.iter().enumerate() {
            if anchors(symbol) {
                self.places[symbol as usize] |= W::ONE << j;
            }
        }
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let mut any = W::default();
        self.levels[0].clear();
        self.levels[0].extend(long.iter().map(|&symbol| {
            let row = self.places[symbol as usize];
            any |= row;
            row
        }));
        for &symbol in short {
            self.places[symbol as usize] = W::default();
        }
        if any == W::default() {
            return 0;
        }
        let longest = short.len().min(long.len());
        let (mut size, mut top) = (1, 0);
        while 2 * size <= longest {
            if self.levels.len() == top + 1 {
                self.levels.push(Vec::new());
            }
            let (below, above) = self.levels.split_at_mut(top + 1);
            if !join(&below[top], &below[top], size, &mut above[0]) {
                break;
            }
            (size, top) = (2 * size, top + 1);
        }
        self.best.clone_from(&self.levels[top]);
        for level in (0..top).rev() {
            if size + (1 << level) <= longest
                && join(&self.best, &self.levels[level], size, &mut self.trial)
            {
                std::mem::swap(&mut self.best, &mut self.trial);
                size += 1 << level;
            }
        }
        size
    }

    /// The first row from `row` on with a place from `bit` on, and the smallest of those places.
    pub(super) fn first_row(&self, row: usize, bit: usize) -> Option<(usize, usize)> {
        let wanted = from(bit)?;
        let rows = self.best.get(row..)?;
        let found = rows.iter().position(|&set| set & wanted != W::default())?;
        Some((row + found, (rows[found] & wanted).lowest()))
    }

    /// The smallest place from `bit` on in any row from `row` on, and the first row with it.
    pub(super) fn first_bit(&self, row: usize, bit: usize) -> Option<(usize, usize)> {
        let wanted = from::<W>(bit)?;
        let rows = self.best.get(row..)?;
        let mut all = W::default();
        for &set in rows {
            all |= set & wanted;
        }
        if all == W::default() {
            return None;
        }
        let bit = all.lowest();
        let found = rows.iter().position(|&set| set & (W::ONE << bit) != W::default())?;
        Some((row + found, bit))
    }
}

/// All positions from `bit` on; `None` if a word has none.
fn from<W: Word>(bit: usize) -> Option<W> {
    (bit < W::BITS).then(|| W::ALL << bit)
}

/// The rows of length `size + y` from those of length `size` and `y`; whether any bit is left.
fn join<W: Word>(rows: &[W], tails: &[W], size: usize, joined: &mut Vec<W>) -> bool {
    let mut any = W::default();
    joined.clear();
    joined.resize(size.min(rows.len()), W::default());
    joined.extend(rows.iter().skip(size).zip(tails).map(|(&row, &tail)| {
        let row = row & (tail << size);
        any |= row;
        row
    }));
    any != W::default()
}
