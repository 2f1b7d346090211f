//! Counter-based random numbers: a draw is a hash of explicit counters, never of global state.
//!
//! The mixing function is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable
//! pseudorandom number generators", 2014). A [`Stream`] hashes its seed and the parts of its name
//! into a key, then mixes `key + k * golden` for k = 1, 2, ...; two streams never share a draw
//! order, so that adding a draw to one leaves the others as they were. Not for cryptography.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64.
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A named sequence of draws.
pub(crate) struct Stream {
    key: u64,
    counter: u64,
}

impl Stream {
    /// The stream called `parts` under `seed`.
    pub(crate) fn new(seed: u64, parts: &[u64]) -> Self {
        let start = mix(seed.wrapping_add(GOLDEN));
        // Not symmetric in key and part: stream [8] of seed 7 is not stream [7] of seed 8.
        let key = parts.iter().fold(start, |key, part| mix((key ^ part).wrapping_add(GOLDEN)));
        Self { key, counter: 0 }
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.counter += 1;
        mix(self.key.wrapping_add(self.counter.wrapping_mul(GOLDEN)))
    }

    /// A number below `n`; the bias is below `n / 2^64`.
    ///
    /// # Panics
    /// If `n` is zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a draw needs at least one choice");
        let n = u128::try_from(n).expect("usize fits in u128");
        let scaled = (u128::from(self.bits()) * n) >> 64;
        usize::try_from(scaled).expect("below n, which is a usize")
    }

    /// A number of seconds in `low..high`; `low` when the range is empty.
    pub(crate) fn seconds(&mut self, low: i64, high: i64) -> i64 {
        let width = usize::try_from((high - low).max(1)).expect("positive");
        low + i64::try_from(self.below(width)).expect("below an i64")
    }

    /// True in `percent` of 100 draws.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// If `choices` is empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Shuffles in place (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i + 1);
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finaliser_gives_the_published_first_output_of_seed_zero() {
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_every_value() {
        let mut stream = Stream::new(7, &[1, 2]);
        let mut seen = [0_u32; 5];
        for _ in 0..1000 {
            seen[stream.below(5)] += 1;
        }
        assert!(seen.iter().all(|&n| (150..250).contains(&n)), "{seen:?}");
    }

    #[test]
    fn streams_with_other_names_differ() {
        let first = Stream::new(7, &[1]).bits();
        assert_ne!(first, Stream::new(7, &[2]).bits());
        assert_ne!(first, Stream::new(8, &[1]).bits());
        assert_ne!(Stream::new(8, &[7]).bits(), Stream::new(7, &[8]).bits());
        assert_eq!(first, Stream::new(7, &[1]).bits());
    }
}
