//! What every way to find matches works on: the sequences, the anchors, and what was found.

use super::clock::Clock;
use super::region::{Block, Region, Regions};

/// One call: two sequences and their growing list of blocks.
pub(super) struct Task<'t> {
    pub(super) a: &'t [u32],
    pub(super) b: &'t [u32],
    /// Per symbol: popular, so no anchor. Empty: none is.
    pub(super) popular: &'t [bool],
    pub(super) blocks: &'t mut Vec<Block>,
    pub(super) regions: &'t mut Regions,
    pub(super) clock: &'t mut Clock,
}

impl<'t> Task<'t> {
    /// Whether a match may start from this symbol.
    pub(super) fn anchors(&self, symbol: u32) -> bool {
        !self.popular.get(symbol as usize).is_some_and(|&popular| popular)
    }

    /// The symbols of a region.
    pub(super) fn sides(&self, region: Region) -> (&'t [u32], &'t [u32]) {
        (&self.a[region.a.0..region.a.1], &self.b[region.b.0..region.b.1])
    }

    /// Extends a match over popular symbols within its region, records it, queues the region
    /// to its left and gives the region to its right; `None` where nothing matched.
    pub(super) fn take(&mut self, region: Region, found: Block) -> Option<Region> {
        let Block { a_start: mut i, b_start: mut j, mut size } = found;
        let (a, b) = (self.a, self.b);
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
        self.blocks.push(Block { a_start: i, b_start: j, size });
        self.regions.push(Region {
            a: (region.a.0, i),
            b: (region.b.0, j),
            below: found.size as u32,
        });
        Some(Region { a: (i + size, region.a.1), b: (j + size, region.b.1), ..region })
    }
}
