//! The chain of matches of a short length, by a table of all runs of that length.
//!
//! Where it is known that no match has more than a few symbols, and the region's own alphabet is
//! small, a run of `k` symbols is a number below `alphabet^k` and indexes a table of its places in
//! `b`. One pass over both sides then finds the chain of length `k`, or that there is none: no
//! hashing, so no collisions, and far less memory than an automaton. Long texts without long
//! common parts (a random answer against a large file) end here.

use super::region::{Block, Region};
use super::task::Task;

const NONE: u32 = u32::MAX;
/// Most entries of the table.
const ENTRIES: usize = 1 << 20;
/// Most symbols of a run, as each length is a pass.
const LONGEST: usize = 32;

/// The table and the lists, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// Per symbol of a call: its number in the region plus 1, 0 for a symbol that one side lacks.
    numbers: Vec<u32>,
    /// Per run, its first place in `b` that is still free; all `NONE` between passes.
    head: Vec<u32>,
    /// Per place, the next one of the same run.
    next: Vec<u32>,
}

/// The number of the run of `length` symbols at a window that moves along one side.
struct Window<'t> {
    numbers: &'t [u32],
    alphabet: usize,
    length: usize,
    /// `alphabet^(length - 1)`, the weight of a run's first symbol.
    weight: usize,
    run: usize,
    /// How many symbols in a row, up to here, both sides have.
    good: usize,
}

impl<'t> Window<'t> {
    fn new(numbers: &'t [u32], alphabet: usize, length: usize) -> Self {
        let weight = alphabet.pow(length as u32 - 1);
        Self { numbers, alphabet, length, weight, run: 0, good: 0 }
    }

    /// Moves right by a symbol; the run that ends with it, if both sides have all its symbols.
    fn right(&mut self, symbol: u32) -> Option<usize> {
        self.moved(symbol, |window, number| window.run % window.weight * window.alphabet + number)
    }

    /// Moves left by a symbol; the run that begins with it, if both sides have all its symbols.
    fn left(&mut self, symbol: u32) -> Option<usize> {
        self.moved(symbol, |window, number| window.run / window.alphabet + number * window.weight)
    }

    #[inline(always)]
    fn moved(&mut self, symbol: u32, run: impl Fn(&Self, usize) -> usize) -> Option<usize> {
        let number = self.numbers[symbol as usize];
        if number == 0 {
            (self.run, self.good) = (0, 0);
            return None;
        }
        self.run = run(self, number as usize - 1);
        self.good += 1;
        (self.good >= self.length).then_some(self.run)
    }
}

impl Runs {
    /// Makes room for symbols `0..symbols`.
    pub(super) fn reset(&mut self, symbols: usize) {
        self.numbers.clear();
        self.numbers.resize(symbols, 0);
    }

    /// Takes the chain of longest matches of a region, all of which are shorter than
    /// `region.below`. `false`, with nothing done, where the table would be too large.
    pub(super) fn round(&mut self, task: &mut Task<'_>, region: Region) -> bool {
        let (a, b) = task.sides(region);
        let longest = region.below as usize - 1;
        if longest > LONGEST {
            return false;
        }
        let alphabet = self.number(a, b);
        let entries = alphabet.checked_pow(longest as u32);
        let possible = entries.is_some_and(|entries| entries <= ENTRIES);
        if possible {
            // A region without a common symbol has no match at all.
            let lengths = if alphabet == 0 { 0 } else { longest };
            for length in (1..=lengths).rev() {
                if self.chain(task, region, alphabet, length) {
                    break;
                }
            }
        }
        for &symbol in a {
            self.numbers[symbol as usize] = 0;
        }
        possible
    }

    /// Numbers the symbols that both sides have, from 1; gives how many there are.
    fn number(&mut self, a: &[u32], b: &[u32]) -> usize {
        for &symbol in a {
            self.numbers[symbol as usize] = NONE;
        }
        let mut count = 0;
        for &symbol in b {
            let number = &mut self.numbers[symbol as usize];
            if *number == NONE {
                count += 1;
                *number = count;
            }
        }
        for &symbol in a {
            let number = &mut self.numbers[symbol as usize];
            if *number == NONE {
                *number = 0;
            }
        }
        count as usize
    }

    /// Takes all matches of `length` symbols from left to right; whether there was one, or no time.
    fn chain(
        &mut self,
        task: &mut Task<'_>,
        region: Region,
        alphabet: usize,
        length: usize,
    ) -> bool {
        let (a, b) = task.sides(region);
        let Self { numbers, head, next } = self;
        let entries = alphabet.pow(length as u32);
        if head.len() < entries {
            head.resize(entries, NONE);
        }
        next.clear();
        next.resize(b.len(), NONE);
        // From the right, so that the places of a run ascend.
        let mut window = Window::new(numbers, alphabet, length);
        for (at, &symbol) in b.iter().enumerate().rev() {
            if task.clock.late_at(at) {
                break;
            }
            if let Some(run) = window.left(symbol) {
                next[at] = std::mem::replace(&mut head[run], at as u32);
            }
        }
        let mut rest = region;
        let mut window = Window::new(numbers, alphabet, length);
        for (end, &symbol) in a.iter().enumerate() {
            if task.clock.late_at(end) {
                break;
            }
            let Some(run) = window.right(symbol) else { continue };
            let a_start = region.a.0 + end + 1 - length;
            if a_start < rest.a.0 {
                continue;
            }
            // Places left of the last match are free no more, for any run behind it.
            let free = (rest.b.0 - region.b.0) as u32;
            let mut place = head[run];
            while place != NONE && place < free {
                place = next[place as usize];
            }
            head[run] = place;
            if place == NONE {
                continue;
            }
            let found = Block { a_start, b_start: region.b.0 + place as usize, size: length };
            if let Some(right) = task.take(rest, found) {
                rest = right;
            }
        }
        let mut window = Window::new(numbers, alphabet, length);
        for &symbol in b.iter().rev() {
            if let Some(run) = window.left(symbol) {
                head[run] = NONE;
            }
        }
        let found = rest.a.0 > region.a.0;
        if found {
            task.regions.push(Region { below: length as u32, ..rest });
        }
        found || task.clock.stopped()
    }
}
