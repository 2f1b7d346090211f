//! Training and held-out seeds that share no repository.
//!
//! The choice depends on the repository's name and a seed alone, so new repositories never move
//! old ones to the other side: `hash(seed, lower(name)) / 2^64 < share` is held out, with FNV-1a
//! followed by the splitmix64 finaliser.

use std::collections::BTreeSet;

use crate::seed::SeedExample;

/// Which repositories are held out.
#[derive(Debug, Clone, PartialEq)]
pub enum HeldOut {
    /// These (`owner/name`, any case).
    Repositories(BTreeSet<String>),
    /// Each repository with this probability.
    Share {
        /// From 0 (none) to 1 (all).
        share: f64,
        /// Another number makes another choice.
        seed: u64,
    },
}

/// The two sides, each in the order of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'a> {
    /// Seeds to train on.
    pub train: Vec<&'a SeedExample>,
    /// Seeds of repositories that training never sees.
    pub held_out: Vec<&'a SeedExample>,
}

/// A uniform number in `[0, 1)` from a repository's name (any case) and a seed.
#[must_use]
pub fn repository_hash(name: &str, seed: u64) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes().map(|byte| byte.to_ascii_lowercase()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut mixed = hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // 53 bits fit an f64 exactly.
    #[allow(clippy::cast_precision_loss)]
    let unit = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    unit
}

/// Splits seeds so that no repository is on both sides.
///
/// # Panics
/// If a share is not within 0 to 1.
#[must_use]
pub fn split_by_repository<'a>(seeds: &'a [SeedExample], held_out: &HeldOut) -> Split<'a> {
    let listed: BTreeSet<String> = match held_out {
        HeldOut::Repositories(names) => names.iter().map(|name| name.to_lowercase()).collect(),
        HeldOut::Share { share, .. } => {
            assert!((0.0..=1.0).contains(share), "a share is within 0 to 1, not {share}");
            BTreeSet::new()
        }
    };
    let is_held_out = |seed: &&SeedExample| match held_out {
        HeldOut::Repositories(_) => listed.contains(&seed.repo.to_lowercase()),
        HeldOut::Share { share, seed: salt } => repository_hash(&seed.repo, *salt) < *share,
    };
    let (held_out, train) = seeds.iter().partition(is_held_out);
    Split { train, held_out }
}
