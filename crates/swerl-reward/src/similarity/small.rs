//! The longest match of two short sequences by the plain table, `O(|a| |b|)`.
//!
//! One row of the table at a time, without a branch inside the row, so that eight cells fit
//! into one machine instruction. For a few hundred symbols that beats building an automaton.
//! Symbols are narrowed to 16 bits beforehand; [`NOTHING`] and [`NO_ANCHOR`] match no symbol.

/// Stands in `a` for a symbol that may not be part of a match.
pub(super) const NOTHING: u16 = u16::MAX;
/// Stands in `b` for a symbol that may not be part of a match.
pub(super) const NO_ANCHOR: u16 = u16::MAX - 1;

/// Two rows of the table, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    old: Vec<u16>,
    new: Vec<u16>,
}

/// The longest match: start in `a`, start in `b`, size. Ties go to the earliest in `a`, then in
/// `b`. Size 0 when nothing matches. One side must be shorter than 65,534 symbols.
pub(super) fn longest(a: &[u16], b: &[u16], rows: &mut Rows) -> (usize, usize, usize) {
    let Rows { old, new } = rows;
    for row in [&mut *old, &mut *new] {
        row.clear();
        row.resize(b.len() + 1, 0);
    }
    let mut best = (0, 0, 0);
    for (i, &symbol) in a.iter().enumerate() {
        // new[j + 1] is the size of the match that ends at a[i], b[j].
        let mut top = 0;
        for ((size, &before), &other) in new[1..].iter_mut().zip(&*old).zip(b) {
            let equal = u16::from(other == symbol).wrapping_neg();
            *size = before.wrapping_add(1) & equal;
            top = top.max(*size);
        }
        if usize::from(top) > best.2 {
            let end = new.iter().position(|&size| size == top).unwrap_or(0);
            let size = usize::from(top);
            best = (i + 1 - size, end - size, size);
        }
        std::mem::swap(old, new);
    }
    best
}
