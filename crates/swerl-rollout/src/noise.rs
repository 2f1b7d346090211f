//! Counter-based randomness: every draw is a function of the counters that name it.
//!
//! ```text
//! mix(x)  = splitmix64's finaliser                      (a bijection of 64 bits)
//! absorb(state, counter) = mix((state xor counter) + GOLDEN)
//! bits    = absorb over (stream, seed, step, prompt, sample, position)
//! uniform = (floor(bits / 2^11) + 1/2) / 2^53           (in the open interval (0, 1))
//! ```
//!
//! No state is carried from draw to draw, so neither batch, order nor thread count can change
//! one, and a run resumes without saving a generator. For fixed other counters the map from one
//! counter to 64 bits is injective; across counters two draws agree only by chance (2^-64).
//! Source of the finaliser: Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014. Not for cryptography.

/// Weyl increment of splitmix64, the golden ratio in 64 bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a draw is for. Two streams share no draws although their counters may be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stream {
    /// Tokens of training rollouts.
    Tokens,
    /// Tokens of evaluation rollouts.
    Evaluation,
    /// Order of the files in a prompt.
    FileOrder,
    /// Which seeds a step uses.
    SeedOrder,
    /// Rewards permuted within a group, the control experiment.
    RewardOrder,
}

impl Stream {
    const fn tag(self) -> u64 {
        match self {
            Self::Tokens => 1,
            Self::Evaluation => 2,
            Self::FileOrder => 3,
            Self::SeedOrder => 4,
            Self::RewardOrder => 5,
        }
    }
}

/// The counters that name a sequence of draws; the position within it comes with each draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey {
    /// What the draws are for.
    pub stream: Stream,
    /// The run's seed.
    pub seed: u64,
    /// The training step, or the epoch where the stream counts epochs.
    pub step: u64,
    /// Number of the prompt within the step.
    pub prompt: u64,
    /// Number of the sample within the prompt.
    pub sample: u64,
}

impl NoiseKey {
    /// 64 random bits for `position`.
    #[must_use]
    pub fn bits(&self, position: u64) -> u64 {
        let counters = [self.seed, self.step, self.prompt, self.sample, position];
        let start = mix(self.stream.tag().wrapping_mul(GOLDEN));
        counters.iter().fold(start, |state, &counter| absorb(state, counter))
    }

    /// A uniform number in the open interval (0, 1), with 53 bits, for `position`.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // 53 bits fit an f64 exactly.
    pub fn uniform(&self, position: u64) -> f64 {
        ((self.bits(position) >> 11) as f64 + 0.5) * (-53.0_f64).exp2()
    }

    /// A permutation of `0..len`, by Fisher-Yates from the end; draw `i` places entry `i`.
    #[must_use]
    pub fn permutation(&self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for last in (1..len).rev() {
            order.swap(last, self.below(last as u64, last + 1));
        }
        order
    }

    /// A number in `0..bound`, by the high half of a 128-bit product. Its bias is `bound / 2^64`.
    fn below(&self, position: u64, bound: usize) -> usize {
        let product = u128::from(self.bits(position)) * bound as u128;
        usize::try_from(product >> 64).expect("the high half is below the bound")
    }
}

const fn absorb(state: u64, counter: u64) -> u64 {
    mix((state ^ counter).wrapping_add(GOLDEN))
}

const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn key(stream: Stream, seed: u64, step: u64, prompt: u64, sample: u64) -> NoiseKey {
        NoiseKey { stream, seed, step, prompt, sample }
    }

    #[test]
    fn no_two_counters_share_a_draw() {
        // Small counters everywhere, where a careless mix would let (1, 0) meet (0, 1).
        let mut bits = BTreeSet::new();
        let mut uniforms = BTreeSet::new();
        let mut draws = 0;
        for stream in [Stream::Tokens, Stream::Evaluation] {
            for seed in 0..4 {
                for step in 0..8 {
                    for prompt in 0..8 {
                        for sample in 0..8 {
                            let key = key(stream, seed, step, prompt, sample);
                            for position in 0..64 {
                                bits.insert(key.bits(position));
                                uniforms.insert(key.uniform(position).to_bits());
                                draws += 1;
                            }
                        }
                    }
                }
            }
        }
        assert_eq!((bits.len(), uniforms.len()), (draws, draws));
    }

    #[test]
    fn uniforms_are_even_and_independent_of_their_neighbours() {
        let (mut bins, mut pairs) = ([0_u32; 20], [[0_u32; 8]; 8]);
        let key = key(Stream::Tokens, 7, 0, 0, 0);
        let at = |position: u64, bins: f64| (key.uniform(position) * bins) as usize;
        for position in 0..40_000 {
            bins[at(position, 20.0)] += 1;
            pairs[at(position, 8.0)][at(position + 1, 8.0)] += 1;
        }
        let chi = |observed: &[u32]| -> f64 {
            let expected = 40_000.0 / observed.len() as f64;
            observed.iter().map(|&o| (f64::from(o) - expected).powi(2) / expected).sum()
        };
        // 99.9% quantiles of chi-square with 19 and 63 degrees of freedom.
        assert!(chi(&bins) < 43.82, "{}", chi(&bins));
        assert!(chi(&pairs.concat()) < 103.44, "{}", chi(&pairs.concat()));
    }

    #[test]
    fn the_definition_does_not_drift() {
        // Runs are replayed from their seed: these values may never change.
        let key = key(Stream::Tokens, 1, 2, 3, 4);
        assert_eq!(key.bits(5), GOLDEN_BITS);
        assert!(key.uniform(5) > 0.0 && key.uniform(5) < 1.0);
        assert_eq!(key.permutation(6), GOLDEN_ORDER);
    }
    const GOLDEN_BITS: u64 = 0x5c92_5705_4f0e_b50e;
    const GOLDEN_ORDER: [usize; 6] = [4, 1, 0, 3, 5, 2];

    #[test]
    fn permutations_are_permutations_and_reach_all_orders() {
        let mut seen = BTreeSet::new();
        for sample in 0..200 {
            let order = key(Stream::SeedOrder, 0, 0, 0, sample).permutation(4);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            seen.insert(order);
        }
        assert_eq!(seen.len(), 24);
        assert!(key(Stream::SeedOrder, 0, 0, 0, 0).permutation(0).is_empty());
    }
}
