//! Dense numbers for code points: a page table of 256 code points a page, pages made on
//! first use, cleared by the list of the pages used. No hashing, so no hostile collisions.

const PAGE: usize = 256;
/// Pages of the whole code space, U+0000 to U+10FFFF.
const PAGES: usize = 0x11_0000 / PAGE;
const NONE: u32 = u32::MAX;

/// Numbers code points from 0 in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    /// Page number -> index into `pages` plus 1, 0 where there is none.
    directory: Vec<u16>,
    pages: Vec<[u32; PAGE]>,
    used: Vec<u16>,
    count: u32,
}

impl Interner {
    /// Forgets all numbers; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.directory.resize(PAGES, 0);
        for page in self.used.drain(..) {
            self.directory[usize::from(page)] = 0;
        }
        self.pages.clear();
        self.count = 0;
    }

    /// The count of distinct code points seen since the last `clear`.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// The number of one code point.
    pub(super) fn number(&mut self, c: char) -> u32 {
        let code = c as usize;
        let page = code / PAGE;
        let mut slot = usize::from(self.directory[page]);
        if slot == 0 {
            self.pages.push([NONE; PAGE]);
            slot = self.pages.len();
            self.directory[page] = slot as u16;
            self.used.push(page as u16);
        }
        let entry = &mut self.pages[slot - 1][code % PAGE];
        if *entry == NONE {
            *entry = self.count;
            self.count += 1;
        }
        *entry
    }
}
