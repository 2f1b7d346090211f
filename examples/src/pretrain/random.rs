//! A small counter-based generator: splitmix64 over (seed, stream), so that document `n` does not
//! depend on documents before it.

/// Uniform draws from one stream.
#[derive(Debug, Clone)]
pub struct Random(u64);

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream numbered `stream` under `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))
            ^ mix(stream.wrapping_mul(0xd1b5_4a32_d192_ed03))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in `0..n`; `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True with probability `percent / 100`.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If `items` is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
