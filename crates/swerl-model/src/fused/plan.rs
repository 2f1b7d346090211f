//! Which tokens see which, cut into the blocks that attention works on.

use std::ops::Range;

use swerl_grpo::batch::Row;

use super::angles::Angles;

/// Queries that share a pass over the tokens they see.
const QUERIES: usize = 32;

/// Which tokens see which, and their rotations.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    pub(super) rows: Vec<RowPlan>,
    pub(super) angles: Angles,
}

/// One row: where it starts among all tokens, how many it has, and its segments.
#[derive(Debug)]
pub(super) struct RowPlan {
    pub(super) start: usize,
    pub(super) len: usize,
    segments: Vec<Seen>,
}

/// The tokens of a segment, each of which sees those before it, and the ranges before the segment
/// that all of them see whole. Tokens are counted from the start of their row.
#[derive(Debug)]
struct Seen {
    own: Range<usize>,
    parents: Vec<Range<usize>>,
}

/// Consecutive tokens of a segment whose queries are computed together. The queries of one key
/// head are ordered by token, those of a token side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    row: &'a RowPlan,
    seen: &'a Seen,
    /// Its first token, counted from the start of the row.
    pub(super) first: usize,
    pub(super) tokens: usize,
}

impl Block<'_> {
    /// The ranges it sees; the last one ends with the block itself.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let last = self.first + self.tokens;
        self.seen.parents.iter().cloned().chain(std::iter::once(self.seen.own.start..last))
    }

    /// How many tokens of `range`, a part of one it sees, are seen by its `i`th token.
    #[inline(always)]
    pub(super) fn visible(&self, range: &Range<usize>, i: usize) -> usize {
        range.len().min((self.first + i + 1).saturating_sub(range.start))
    }
}

impl Plan {
    /// The plan of `rows` laid end to end. `freq` are the rotary frequencies in radians per token.
    pub(crate) fn new(rows: &[Row], heads: usize, kv_heads: usize, freq: &[f64]) -> Self {
        let angles = Angles::new(freq, rows.iter().flat_map(|row| row.positions.iter().copied()));
        let mut plans = Vec::with_capacity(rows.len());
        let mut start = 0;
        for row in rows {
            let range =
                |i: usize| row.segments[i].start..row.segments[i].start + row.segments[i].len;
            let segments = (0..row.segments.len())
                .map(|i| {
                    let mut parents = Vec::new();
                    let mut up = row.segments[i].parent;
                    while let Some(a) = up {
                        parents.push(range(a));
                        up = row.segments[a].parent;
                    }
                    parents.reverse();
                    parents.retain(|parent| !parent.is_empty());
                    Seen { own: range(i), parents }
                })
                .collect();
            plans.push(RowPlan { start, len: row.tokens.len(), segments });
            start += row.tokens.len();
        }
        Self { heads, kv_heads, head_dim: 2 * freq.len(), rows: plans, angles }
    }

    /// The rotations of all tokens.
    pub(crate) fn angles(&self) -> &Angles {
        &self.angles
    }

    /// What can be computed apart: each key head of each row.
    pub(super) fn tasks(&self) -> Vec<(usize, usize)> {
        (0..self.rows.len()).flat_map(|r| (0..self.kv_heads).map(move |g| (r, g))).collect()
    }

    /// Of the products of queries and keys.
    pub(super) fn scale(&self) -> f32 {
        (self.head_dim as f32).sqrt().recip()
    }

    /// Query heads that share a key head.
    pub(super) fn rep(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// The blocks of a row.
    pub(super) fn blocks<'a>(&self, row: &'a RowPlan) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let most = (QUERIES / self.rep()).max(1);
        row.segments.iter().flat_map(move |seen| {
            let end = seen.own.end;
            seen.own.clone().step_by(most).map(move |first| Block {
                row,
                seen,
                first,
                tokens: most.min(end - first),
            })
        })
    }

    /// The places of a block's queries for key head `g` among all `N H` heads.
    pub(super) fn places(&self, block: Block<'_>, g: usize) -> impl Iterator<Item = usize> + use<> {
        let (rep, heads) = (self.rep(), self.heads);
        let first = block.row.start + block.first;
        (first..first + block.tokens)
            .flat_map(move |n| n * heads + g * rep..n * heads + (g + 1) * rep)
    }

    /// A block's queries for key head `g`, rotated and scaled, `[count, h]`.
    pub(super) fn queries(&self, block: Block<'_>, g: usize, q: &[f32], out: &mut Vec<f32>) {
        let (h, scale) = (self.head_dim, self.scale());
        out.resize(block.tokens * self.rep() * h, 0.0);
        for (at, out) in self.places(block, g).zip(out.chunks_exact_mut(h)) {
            self.angles.rotate(&q[at * h..][..h], at / self.heads, 1.0, out);
            out.iter_mut().for_each(|x| *x *= scale);
        }
    }
}
