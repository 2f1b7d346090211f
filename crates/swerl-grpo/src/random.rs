//! Random numbers as functions of counters: no state to save, nothing to restore.
//!
//! The mixing step is that of SplitMix64 (Steele, Lea and Flood, 2014), applied once per counter.

/// A 64-bit hash of `seed` and `counters`; equidistributed for consecutive counters.
#[must_use]
pub(crate) fn mix(seed: u64, counters: &[u64]) -> u64 {
    counters.iter().fold(splitmix(seed), |state, &counter| splitmix(state ^ splitmix(counter)))
}

fn splitmix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A permutation of `0..len` for one epoch: Fisher and Yates, each swap drawn from its counter.
///
/// The bias of the bounded draws is below `len / 2^64`.
#[must_use]
pub(crate) fn permutation(len: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    for last in (1..len).rev() {
        let draw = u128::from(mix(seed, &[epoch, last as u64]));
        let chosen = (draw * (last as u128 + 1)) >> 64;
        order.swap(last, chosen as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_whole_differ_by_epoch_and_repeat() {
        let orders: Vec<Vec<usize>> = (0..3).map(|epoch| permutation(100, 7, epoch)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
        assert_ne!(orders[0], orders[1]);
        assert_ne!(orders[1], orders[2]);
        assert_eq!(orders[1], permutation(100, 7, 1));
        assert!(permutation(0, 7, 0).is_empty());
    }

    #[test]
    fn every_place_is_reached_about_equally() {
        let mut counts = [0_u32; 5];
        for epoch in 0..5000 {
            counts[permutation(5, 1, epoch)[0]] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}
