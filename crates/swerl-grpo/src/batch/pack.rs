//! Splitting a step's samples into micro-batches by a token budget.
//!
//! Greedy and in order: pieces join the current micro-batch as long as its cost stays within the
//! budget. The cost is counted with padding, `rows * longest row`, so that a policy that pads its
//! rows stays within it too. Neighbours of the same group share a row, hence the prompt's tokens.
//! O(n) in the number of pieces.

use std::ops::Range;

/// A sample, as far as packing cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Samples with equal numbers share a row, and the prompt in it, when they are neighbours.
    pub row: usize,
    /// Tokens that are computed once per row.
    pub shared: usize,
    /// Tokens of its own.
    pub own: usize,
}

/// Cuts `pieces` into consecutive runs whose padded cost is at most `budget` tokens each.
///
/// A piece that is larger than the budget by itself forms a run of its own: it cannot be cut.
///
/// # Panics
/// If `budget` is 0.
#[must_use]
pub fn split_by_budget(pieces: &[Piece], budget: usize) -> Vec<Range<usize>> {
    assert!(budget > 0, "a token budget of 0 holds nothing");
    let mut runs = Vec::new();
    let (mut start, mut rows, mut longest, mut last) = (0, 0, 0, 0);
    for (index, piece) in pieces.iter().enumerate() {
        let joins = index > start && pieces[index - 1].row == piece.row;
        let grown = if joins { last + piece.own } else { piece.shared + piece.own };
        let new_rows = if joins { rows } else { rows + 1 };
        if index > start && new_rows * longest.max(grown) > budget {
            runs.push(start..index);
            start = index;
            last = piece.shared + piece.own;
            (rows, longest) = (1, last);
        } else {
            last = grown;
            (rows, longest) = (new_rows, longest.max(grown));
        }
    }
    if start < pieces.len() {
        runs.push(start..pieces.len());
    }
    runs
}
