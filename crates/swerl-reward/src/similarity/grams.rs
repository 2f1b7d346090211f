//! All long matches of a region at once, from equal runs of a few symbols.
//!
//! Every run of `gram` symbols of `b` goes into a table by its hash; every run of `a` is looked
//! up, and a pair that cannot be extended to the left is extended to the right. That lists every
//! maximal match of at least `gram` symbols. difflib's longest match inside any part of the
//! region is one of them, clipped to that part, as long as it has `gram` symbols: the list
//! carries a whole subtree of the recursion without reading the texts again.
//!
//! Repetitive texts have too many pairs; then nothing is listed and the caller takes another
//! way. Hashes only choose what is compared, so a collision costs a look and no more.

use super::clock::Clock;
use super::region::{Block, Region};
use super::task::Task;

const NONE: u32 = u32::MAX;
/// Multiplier of the polynomial hash (odd), and its inverse modulo 2^64.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const INVERSE: u64 = inverse(FACTOR);

/// Lengths of the runs, longest first: one that is too short for a text has too many pairs.
const LENGTHS: [usize; 3] = [16, 8, 4];
/// The length for texts of more than [`LONG`] symbols where the first of them is too short.
const LONGER: usize = 32;
const LONG: usize = 1 << 17;
/// Most matches listed of a region, besides one for every two symbols.
const PIECES: usize = 1 << 19;

/// Whether the matches of a region were listed.
enum Listed {
    All,
    None,
    TooMany,
}

/// What became of a region.
pub(super) enum Found {
    /// Its long matches were taken, the parts between them wait.
    Taken,
    /// Nothing was done: no match is as long as this.
    Below(u32),
    /// Nothing was done: the matches are too many to list.
    TooMany,
}

/// A maximal match clipped to part number `part`; order: part, then `a`, then `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    part: u32,
    a: u32,
    b: u32,
    size: u32,
}

/// The table and the lists, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(super) struct Grams {
    /// Per bucket, the first place in `b`; per place, the next one of its bucket.
    head: Vec<u32>,
    next: Vec<u32>,
    /// The matches of the parts that wait, those of the last part at the end.
    pieces: Vec<Piece>,
    waiting: Vec<(Region, usize)>,
    parts: Vec<Region>,
    sorted: Vec<Piece>,
}

impl Grams {
    /// Takes every match of several symbols out of a region, in difflib's order of choice, and
    /// leaves the parts between them.
    pub(super) fn round(&mut self, task: &mut Task<'_>, region: Region) -> Found {
        let (a, b) = task.sides(region);
        let long = a.len() + b.len() > LONG && region.below as usize > LONGER;
        let mut below = region.below;
        for &length in LENGTHS.iter().filter(|&&gram| gram < region.below as usize) {
            let mut gram = length;
            let mut listed = self.list(task.clock, a, b, gram);
            if gram == LENGTHS[0] && long && matches!(listed, Listed::TooMany) {
                gram = LONGER;
                listed = self.list(task.clock, a, b, gram);
            }
            match listed {
                Listed::All => {
                    for piece in &mut self.pieces {
                        piece.a += region.a.0 as u32;
                        piece.b += region.b.0 as u32;
                    }
                    self.waiting.clear();
                    self.waiting.push((region, 0));
                    while let Some((region, start)) = self.waiting.pop() {
                        if task.clock.late() {
                            break;
                        }
                        self.split(task, region, start, gram);
                    }
                    return Found::Taken;
                }
                Listed::None if gram == length => below = gram as u32,
                // Too many of one length, none of the next.
                Listed::None | Listed::TooMany => return Found::TooMany,
            }
        }
        Found::Below(below)
    }

    /// Fills `pieces` with the maximal matches, ascending in `a`, then in `b`.
    fn list(&mut self, clock: &mut Clock, a: &[u32], b: &[u32], gram: usize) -> Listed {
        self.pieces.clear();
        if a.len() < gram || b.len() < gram {
            return Listed::None;
        }
        let bits = (b.len().next_power_of_two().trailing_zeros() + 1).max(4);
        self.head.clear();
        self.head.resize(1 << bits, NONE);
        self.next.clear();
        self.next.resize(b.len(), NONE);
        let bucket =
            |hash: u64| ((hash ^ (hash >> 31)).wrapping_mul(FACTOR) >> (64 - bits)) as usize;
        let last = power(gram - 1);
        // From the right, so that the places of a bucket ascend.
        let mut hash = 0u64;
        for j in (0..b.len()).rev() {
            if clock.late_at(j) {
                return Listed::TooMany;
            }
            if let Some(&gone) = b.get(j + gram) {
                hash = hash.wrapping_sub(u64::from(gone).wrapping_mul(last));
            }
            hash = hash.wrapping_mul(FACTOR).wrapping_add(u64::from(b[j]));
            if j + gram <= b.len() {
                let head = &mut self.head[bucket(hash)];
                self.next[j] = std::mem::replace(head, j as u32);
            }
        }
        let mut budget = 8 * (a.len() + b.len()) + 1024;
        // A piece and its sorted copy take more memory than a symbol: long texts get few of them.
        let most = PIECES + (a.len() + b.len()) / 2;
        let mut step = 0;
        let mut hash = a[..gram]
            .iter()
            .rev()
            .fold(0u64, |h, &s| h.wrapping_mul(FACTOR).wrapping_add(s.into()));
        for i in 0..=a.len() - gram {
            if i > 0 {
                hash = hash.wrapping_sub(u64::from(a[i - 1])).wrapping_mul(INVERSE);
                hash = hash.wrapping_add(u64::from(a[i + gram - 1]).wrapping_mul(last));
            }
            let mut at = self.head[bucket(hash)];
            while at != NONE {
                step += 1;
                if budget == 0 || self.pieces.len() > most || clock.late_at(step) {
                    return Listed::TooMany;
                }
                budget -= 1;
                let j = at as usize;
                at = self.next[j];
                if i > 0 && j > 0 && a[i - 1] == b[j - 1] {
                    continue;
                }
                let size = a[i..].iter().zip(&b[j..]).take_while(|(x, y)| x == y).count();
                budget = budget.saturating_sub(size / 8);
                if size >= LONG && clock.late() {
                    return Listed::TooMany;
                }
                if size >= gram {
                    let (a, b, size) = (i as u32, j as u32, size as u32);
                    self.pieces.push(Piece { part: 0, a, b, size });
                }
            }
        }
        if self.pieces.is_empty() { Listed::None } else { Listed::All }
    }

    /// Takes the chain of longest matches of one region, whose list is `pieces[start..]`.
    fn split(&mut self, task: &mut Task<'_>, region: Region, start: usize, gram: usize) {
        let list = &self.pieces[start..];
        let size = list.iter().map(|piece| piece.size).max().unwrap_or(0);
        self.parts.clear();
        let (mut i, mut j) = (region.a.0, region.b.0);
        for piece in list.iter().filter(|piece| piece.size == size) {
            let (a, b) = (piece.a as usize, piece.b as usize);
            if a < i || b < j {
                continue;
            }
            task.blocks.push(Block { a_start: a, b_start: b, size: size as usize });
            self.parts.push(Region { a: (i, a), b: (j, b), below: size });
            (i, j) = (a + size as usize, b + size as usize);
        }
        self.parts.push(Region { a: (i, region.a.1), b: (j, region.b.1), below: size });
        self.sorted.clear();
        for piece in list {
            let (from, to) = (piece.a as usize, (piece.a + piece.size) as usize);
            let first = self.parts.partition_point(|part| part.a.1 <= from);
            for (number, part) in self.parts.iter().enumerate().skip(first) {
                if part.a.0 >= to {
                    break;
                }
                let (a, b) = (piece.a as usize, piece.b as usize);
                let skip = part.a.0.saturating_sub(a).max(part.b.0.saturating_sub(b));
                let end = (piece.size as usize)
                    .min(part.a.1.saturating_sub(a))
                    .min(part.b.1.saturating_sub(b));
                if end >= skip + gram {
                    self.sorted.push(Piece {
                        part: number as u32,
                        a: (a + skip) as u32,
                        b: (b + skip) as u32,
                        size: (end - skip) as u32,
                    });
                }
            }
        }
        self.sorted.sort_unstable();
        self.pieces.truncate(start);
        let mut rest = &self.sorted[..];
        for (number, &part) in self.parts.iter().enumerate() {
            let own = rest.partition_point(|piece| piece.part as usize == number);
            let (list, others) = rest.split_at(own);
            rest = others;
            if list.is_empty() {
                task.regions.push(Region { below: part.below.min(gram as u32), ..part });
            } else if part.short() {
                task.regions.push(part);
            } else {
                self.waiting.push((part, self.pieces.len()));
                self.pieces.extend_from_slice(list);
            }
        }
    }
}

/// `FACTOR` to the power of `n`, modulo 2^64.
fn power(n: usize) -> u64 {
    (0..n).fold(1u64, |power, _| power.wrapping_mul(FACTOR))
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut round = 0;
    while round < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        round += 1;
    }
    x
}
