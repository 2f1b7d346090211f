//! difflib's matching blocks in near-linear time.
//!
//! difflib takes the longest match of a region (ties to the earliest in `a`, then in `b`), then
//! does the same on both sides of it. Here a round finds the greatest length `K` of a match in a
//! region and takes the whole chain of matches of that length from left to right: to the left of
//! the first nothing of length `K` is left (it would have been earlier), and to the right the longest
//! is `K` again, as long as one exists. The gaps between them are regions whose longest match is
//! shorter than `K`. Four ways to find them, all with the same result:
//!
//! * a side of at most 64 symbols: sets of places in machine words ([`super::bits`]);
//! * two longer sides: all matches of several symbols at once, by hashed runs ([`super::grams`]);
//! * where there are none, and the alphabet is small: a table of all shorter runs ([`super::runs`]);
//! * else the suffix automaton ([`super::walk`]).
//!
//! Cost: a round is linear in its region; the regions of one depth are disjoint; the lengths
//! `K` along a path of rounds are distinct, and all of them fit into the text. Hence
//! `O((|a| + |b|) sqrt(min(|a|, |b|)))` at worst, whatever the text, and a few passes on real patches.
//! Memory is linear and kept for the next call.
//!
//! `autojunk` (for lines): symbols that are too frequent anchor no match, but a match is
//! extended over them on both sides afterwards, within its region, as difflib does it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::bits::{Bits, Word};
use super::clock::Clock;
use super::grams::{Found, Grams};
use super::interner::Interner;
use super::region::{Block, Region, Regions};
use super::runs::Runs;
use super::task::Task;
use super::walk::Walk;

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
    regions: Regions,
    /// Per symbol: popular, so no anchor. Empty: none is.
    popular: Vec<bool>,
    counts: Vec<u32>,
    short: Bits<u64>,
    medium: Bits<u128>,
    grams: Grams,
    runs: Runs,
    walk: Walk,
    clock: Clock,
}

impl Matcher {
    /// A matcher without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What `work` does with this matcher, or `None` where that takes longer than `limit`.
    ///
    /// The matcher stops in the middle of a comparison; scoring stops between its parts as well. No
    /// thread is left behind, and the matcher is as good as new afterwards, also after a panic of `work`.
    /// Where the limit was passed, the value that `work` made is dropped. Limits nest: the
    /// earliest one holds.
    ///
    /// ```
    /// use std::time::Duration;
    /// use swerl_reward::similarity::Matcher;
    /// let ratio = Matcher::new().within(Duration::from_secs(5), |matcher| matcher.ratio("tide", "diet"));
    /// assert_eq!(ratio, Some(0.25));
    /// ```
    pub fn within<T>(&mut self, limit: Duration, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let clock = self.rounds.clock.until(Instant::now().checked_add(limit), None);
        self.limited(clock, work)
    }

    /// What `work` does with this matcher, or `None` where `cancel` is true before it is done.
    ///
    /// Stops as [`Matcher::within`] does, and nests with it: for a stop that another thread asks for,
    /// because of a signal or of a client that went away.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use swerl_reward::similarity::Matcher;
    /// let cancel = Arc::new(AtomicBool::new(false));
    /// let mut matcher = Matcher::new();
    /// assert_eq!(matcher.unless(&cancel, |matcher| matcher.ratio("tide", "diet")), Some(0.25));
    /// cancel.store(true, Ordering::Relaxed);
    /// assert_eq!(matcher.unless(&cancel, |matcher| matcher.ratio("tide", "diet")), None);
    /// ```
    pub fn unless<T>(
        &mut self,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let clock = self.rounds.clock.until(None, Some(cancel));
        self.limited(clock, work)
    }

    /// What `work` does with this matcher, or `None` where its rounds look at more than so many symbols.
    /// A symbol counts anew in every round whose region it is in.
    pub(crate) fn bounded<T>(
        &mut self,
        symbols: usize,
        work: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let clock = self.rounds.clock.for_symbols(symbols);
        let outer = std::mem::replace(&mut self.rounds.clock, clock);
        let limited = Limited { matcher: self, outer };
        let value = work(limited.matcher);
        (!limited.matcher.rounds.clock.exhausted()).then_some(value)
    }

    fn limited<T>(&mut self, clock: Clock, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let outer = std::mem::replace(&mut self.rounds.clock, clock);
        let limited = Limited { matcher: self, outer };
        let value = work(limited.matcher);
        (!limited.matcher.late()).then_some(value)
    }

    /// Whether to stop, by [`Matcher::within`] or [`Matcher::unless`].
    pub(crate) fn late(&mut self) -> bool {
        self.rounds.clock.late()
    }

    /// The ratio of difflib over code points, `autojunk` off: see [`crate::similarity`].
    #[must_use]
    pub fn ratio(&mut self, a: &str, b: &str) -> f64 {
        if a == b {
            return 1.0;
        }
        if self.late() {
            return 0.0;
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

/// A matcher with a limit of its own; dropping it brings the one before back.
struct Limited<'m> {
    matcher: &'m mut Matcher,
    outer: Clock,
}

impl Drop for Limited<'_> {
    fn drop(&mut self) {
        self.matcher.rounds.clock = std::mem::take(&mut self.outer);
    }
}

impl Rounds {
    fn run(&mut self, a: &[u32], b: &[u32], symbols: usize, blocks: &mut Vec<Block>) {
        self.short.reset(symbols);
        self.medium.reset(symbols);
        self.runs.reset(symbols);
        self.walk.reset(symbols);
        let extends = !self.popular.is_empty();
        self.regions.start(Region { a: (0, a.len()), b: (0, b.len()), below: u32::MAX }, extends);
        let Self { regions, popular, short, medium, grams, runs, walk, clock, .. } = self;
        let mut task = Task { a, b, popular, blocks, regions, clock };
        while let Some(region) = task.regions.pop() {
            let (left, right) = region.sides();
            if task.clock.late_for(left + right) {
                return;
            }
            if region.short() {
                bits_round(short, &mut task, region);
                continue;
            }
            let found = if extends { Found::TooMany } else { grams.round(&mut task, region) };
            let below = match found {
                Found::Taken => continue,
                Found::Below(below) => below,
                Found::TooMany => region.below,
            };
            if left.min(right) <= <u128 as Word>::BITS {
                bits_round(medium, &mut task, region);
            } else if extends || !runs.round(&mut task, Region { below, ..region }) {
                walk.round(&mut task, region);
            }
        }
    }
}

/// Takes the chain of longest matches of a region whose shorter side fits into a word.
fn bits_round<W: Word>(bits: &mut Bits<W>, task: &mut Task<'_>, region: Region) {
    let (a, b) = task.sides(region);
    let swapped = a.len() < b.len();
    let size = if swapped {
        bits.longest(b, a, |symbol| task.anchors(symbol))
    } else {
        bits.longest(a, b, |symbol| task.anchors(symbol))
    };
    let mut rest = region;
    if size == 0 {
        // Only popular symbols can still match, at the start of the region.
        let found = Block { a_start: region.a.0, b_start: region.b.0, size };
        if let Some(rest) = task.take(region, found) {
            task.regions.push(rest);
        }
        return;
    }
    loop {
        // The smallest ends that leave room for a match in what is left.
        let ends = (rest.a.0 - region.a.0 + size - 1, rest.b.0 - region.b.0 + size - 1);
        let found = if swapped {
            bits.first_bit(ends.1, ends.0).map(|(row, bit)| (bit, row))
        } else {
            bits.first_row(ends.0, ends.1)
        };
        let Some((a_end, b_end)) = found else { break };
        let found = Block {
            a_start: region.a.0 + a_end + 1 - size,
            b_start: region.b.0 + b_end + 1 - size,
            size,
        };
        match task.take(rest, found) {
            Some(right) => rest = right,
            None => break,
        }
    }
    task.regions.push(Region { below: size as u32, ..rest });
}
