//! The suffix automaton of a sequence, with the first end of every substring.
//!
//! Built left to right in `O(n log s)` for an alphabet of `s` symbols (Blumer et al., 1985); a
//! [`BREAK`] starts anew at the root, so that no substring runs across it. A state stands
//! for the substrings with one set of end positions; `first_end` is the smallest of them,
//! which is what "earliest in b" needs.
//!
//! Most states have one way out, kept in the state. The others own a block: one row of the
//! alphabet, or above [`DENSE`] symbols a radix-16 trie of rows, so that memory stays linear
//! and the time to find a way out stays bounded for any text.

/// Not a symbol: nothing matches it and no substring holds it.
pub(super) const BREAK: u32 = u32::MAX;
/// No state, no block, no position.
pub(super) const NONE: u32 = u32::MAX;
/// The state of the empty string.
pub(super) const ROOT: u32 = 0;
/// Alphabets up to this size get rows that hold every symbol.
const DENSE: u32 = 32;

/// One class of substrings with equal end positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Length of the longest substring of the class.
    pub(super) len: u32,
    /// The class of the longest suffix with more end positions; `NONE` for the root.
    pub(super) link: u32,
    /// The smallest end position (index of the last symbol).
    pub(super) first_end: u32,
    /// The only way out while there is one, and where it goes.
    symbol: u32,
    target: u32,
    /// The row of ways out once there are two.
    block: u32,
}

/// A suffix automaton whose memory is kept from one build to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    rows: Vec<u32>,
    width: usize,
    levels: u32,
}

impl Automaton {
    /// Empties the automaton for an alphabet of symbols `0..alphabet`.
    pub(super) fn reset(&mut self, alphabet: u32) {
        self.states.clear();
        self.rows.clear();
        if alphabet <= DENSE {
            self.width = alphabet.max(1) as usize;
            self.levels = 1;
        } else {
            self.width = 16;
            self.levels = (u32::BITS - (alphabet - 1).leading_zeros()).div_ceil(4);
        }
        self.push(State {
            len: 0,
            link: NONE,
            first_end: NONE,
            symbol: NONE,
            target: NONE,
            block: NONE,
        });
    }

    /// Appends `symbol` at position `end` after the text of state `last`; gives the new last.
    pub(super) fn extend(&mut self, last: u32, symbol: u32, end: u32) -> u32 {
        if symbol == BREAK {
            return ROOT;
        }
        let len = self.states[last as usize].len + 1;
        if let Some(next) = self.next(last, symbol) {
            // The text after a break has been read before.
            return self.separate(last, symbol, next, len);
        }
        let new =
            State { len, link: ROOT, first_end: end, symbol: NONE, target: NONE, block: NONE };
        let new = self.push(new);
        let mut at = last;
        while at != NONE {
            if let Some(next) = self.next(at, symbol) {
                let above = self.states[at as usize].len + 1;
                let link = self.separate(at, symbol, next, above);
                self.states[new as usize].link = link;
                return new;
            }
            self.set(at, symbol, new);
            at = self.states[at as usize].link;
        }
        new
    }

    /// The state after `symbol`, if that text occurs.
    #[inline]
    pub(super) fn next(&self, state: u32, symbol: u32) -> Option<u32> {
        let state = &self.states[state as usize];
        if state.symbol == symbol {
            return Some(state.target);
        }
        if state.block == NONE {
            return None;
        }
        let mut block = state.block;
        for level in (0..self.levels).rev() {
            block = self.rows[block as usize + self.digit(symbol, level)];
            if block == NONE {
                return None;
            }
        }
        Some(block)
    }

    /// The class of exactly length `len` inside `next`, the state after `at` by `symbol`.
    fn separate(&mut self, at: u32, symbol: u32, next: u32, len: u32) -> u32 {
        if self.states[next as usize].len == len {
            return next;
        }
        let mut copy = self.states[next as usize];
        copy.len = len;
        if copy.block != NONE {
            copy.block = self.copy_row(copy.block, self.levels - 1);
        }
        let copy = self.push(copy);
        self.states[next as usize].link = copy;
        let mut at = at;
        while at != NONE && self.next(at, symbol) == Some(next) {
            self.set(at, symbol, copy);
            at = self.states[at as usize].link;
        }
        copy
    }

    fn set(&mut self, state: u32, symbol: u32, target: u32) {
        let found = self.states[state as usize];
        if found.symbol == symbol {
            self.states[state as usize].target = target;
            return;
        }
        if found.symbol == NONE && found.block == NONE {
            self.states[state as usize].symbol = symbol;
            self.states[state as usize].target = target;
            return;
        }
        if found.block == NONE {
            let block = self.new_row();
            self.states[state as usize].block = block;
        }
        let mut row = self.states[state as usize].block;
        for level in (1..self.levels).rev() {
            let slot = row as usize + self.digit(symbol, level);
            row = self.rows[slot];
            if row == NONE {
                row = self.new_row();
                self.rows[slot] = row;
            }
        }
        let slot = row as usize + self.digit(symbol, 0);
        self.rows[slot] = target;
    }

    #[inline]
    fn digit(&self, symbol: u32, level: u32) -> usize {
        if self.levels == 1 { symbol as usize } else { ((symbol >> (4 * level)) & 15) as usize }
    }

    fn push(&mut self, state: State) -> u32 {
        self.states.push(state);
        (self.states.len() - 1) as u32
    }

    fn new_row(&mut self) -> u32 {
        let row = self.rows.len();
        self.rows.resize(row + self.width, NONE);
        row as u32
    }

    fn copy_row(&mut self, row: u32, level: u32) -> u32 {
        let copy = self.rows.len();
        let row = row as usize;
        self.rows.extend_from_within(row..row + self.width);
        if level > 0 {
            for digit in 0..self.width {
                let below = self.rows[copy + digit];
                if below != NONE {
                    self.rows[copy + digit] = self.copy_row(below, level - 1);
                }
            }
        }
        copy as u32
    }
}
