//! The longest match of two long sides by the suffix automaton of one, for any text.
//!
//! A round builds the automaton of the `b` side, walks the `a` side through it and so learns
//! the greatest length `K` of a common substring and every place of `a` where one of that
//! length ends.

use super::automaton::{Automaton, BREAK, NONE, ROOT};
use super::clock::Clock;
use super::region::{Block, Region};
use super::task::Task;

/// The automaton and the lists of one round, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    automaton: Automaton,
    /// Per symbol of a region: its number there, valid where `stamp` is the round's.
    local: Vec<u32>,
    stamp: Vec<u32>,
    round: u32,
    /// Places of `a` where a longest match ends, with its state.
    ends: Vec<(u32, u32)>,
    /// Per state, the first and per position of `b` the next place where its match ends.
    head: Vec<u32>,
    next: Vec<u32>,
}

impl Walk {
    /// Makes room for symbols `0..symbols`.
    pub(super) fn reset(&mut self, symbols: usize) {
        self.local.clear();
        self.local.resize(symbols, NONE);
        self.stamp.clear();
        self.stamp.resize(symbols, 0);
        self.round = 0;
    }

    /// Takes the chain of longest matches of a region.
    pub(super) fn round(&mut self, task: &mut Task<'_>, region: Region) {
        let (a, b) = task.sides(region);
        let size = if self.build(task, a, b) { self.walk(task.clock, a) } else { 0 };
        if task.clock.stopped() {
            return;
        }
        if size == 0 {
            // Only popular symbols can still match, at the start of the region.
            let found = Block { a_start: region.a.0, b_start: region.b.0, size };
            if let Some(rest) = task.take(region, found) {
                task.regions.push(rest);
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
                    self.list_ends(b, size);
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
            match task.take(rest, found) {
                Some(right) => rest = right,
                None => return,
            }
        }
        task.regions.push(Region { below: size as u32, ..rest });
    }

    /// Numbers the symbols that both sides have and builds the automaton of `b`; `false` where time
    /// ran out.
    fn build(&mut self, task: &mut Task<'_>, a: &[u32], b: &[u32]) -> bool {
        // Two stamps a round: "seen in a", then "numbered".
        self.round += 2;
        let (seen, numbered) = (self.round - 1, self.round);
        for &symbol in a {
            self.stamp[symbol as usize] = seen;
        }
        let mut count = 0;
        for &symbol in b {
            let at = symbol as usize;
            if self.stamp[at] == seen && task.anchors(symbol) {
                self.stamp[at] = numbered;
                self.local[at] = count;
                count += 1;
            }
        }
        self.automaton.reset(count);
        let mut last = ROOT;
        for (end, &symbol) in b.iter().enumerate() {
            if task.clock.late_at(end) {
                return false;
            }
            last = self.automaton.extend(
                last,
                Self::number(&self.stamp, &self.local, numbered, symbol),
                end as u32,
            );
        }
        true
    }

    fn number(stamp: &[u32], local: &[u32], numbered: u32, symbol: u32) -> u32 {
        if stamp[symbol as usize] == numbered { local[symbol as usize] } else { BREAK }
    }

    /// Walks `a`; gives the greatest match length and fills `ends` with all places that reach it.
    fn walk(&mut self, clock: &mut Clock, a: &[u32]) -> usize {
        self.ends.clear();
        let (mut state, mut len, mut best) = (ROOT, 0u32, 1u32);
        for (end, &symbol) in a.iter().enumerate() {
            if clock.late_at(end) {
                return 0;
            }
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
