//! The same change twice: cherry-picks, forks, generated fixes.
//!
//! A change's shingles are runs of [`SHINGLE`] words of its removed and added lines, white space
//! aside. Two changes are exact duplicates if path and words agree; near duplicates if the Jaccard
//! similarity of their sets of shingles reaches a threshold. Candidates come from MinHash
//! signatures of [`BANDS`] bands of [`ROWS`] values (Broder 1997): a pair of similarity s shares a
//! band with probability `1 - (1 - s^ROWS)^BANDS`, which is 0.9999 at 0.8 and 0.09 at 0.3. The
//! similarity of each candidate is then computed exactly, so no pair is called near by chance.
//! O(n) in the number of changes where few share a band.

use std::collections::{BTreeSet, HashMap};

use super::hunk::{ChangedFile, hunks};

/// Words in a row that are hashed together.
pub const SHINGLE: usize = 4;
/// Bands of a signature.
pub const BANDS: usize = 24;
/// MinHash values in a band.
pub const ROWS: usize = 4;
/// Changes with fewer shingles are compared for equality alone: "return x" is everywhere.
pub const LEAST_SHINGLES: usize = 16;

/// What of a change is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    exact: u128,
    shingles: Vec<u64>,
    bands: Vec<u64>,
}

/// Which earlier change a change repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// The place of the earlier one.
    pub of: usize,
    /// Whether path and words agree.
    pub is_exact: bool,
}

/// splitmix64's finaliser: a bijection that mixes all bits.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// FNV-1a of 64 bits, then mixed.
fn hash(bytes: &[u8], start: u64) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325 ^ start, fold))
}

/// The words of a line: runs of letters and digits, and each other sign by itself.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, tail) = rest.split_at(len);
        rest = tail;
        Some(word)
    })
}

impl Signature {
    /// The signature of a change. The files' order does not matter.
    #[must_use]
    pub fn of(files: &[ChangedFile<'_>]) -> Self {
        let mut files: Vec<&ChangedFile<'_>> = files.iter().collect();
        files.sort_by_key(|file| file.path);
        let mut shingles = BTreeSet::new();
        let mut exact = Vec::new();
        for file in files {
            exact.push(hash(file.path.as_bytes(), 1));
            for hunk in hunks(file.old, file.new) {
                for (side, lines) in [(2, &hunk.removed), (3, &hunk.added)] {
                    let hashes: Vec<u64> = lines
                        .iter()
                        .flat_map(|line| words(line))
                        .map(|word| hash(word.as_bytes(), side))
                        .collect();
                    for run in hashes.windows(SHINGLE.min(hashes.len().max(1))) {
                        shingles.insert(
                            run.iter().fold(side, |all, one| mix(all.rotate_left(7) ^ one)),
                        );
                    }
                    exact.push(side);
                    exact.extend(hashes);
                }
            }
        }
        let fold = |start: u64| exact.iter().fold(start, |all, one| mix(all.rotate_left(7) ^ one));
        let bands = (0..BANDS).map(|band| {
            (0..ROWS).fold(band as u64, |all, row| {
                let salt = mix((band * ROWS + row + 1) as u64);
                let least = shingles.iter().map(|shingle| mix(shingle ^ salt)).min();
                mix(all.rotate_left(7) ^ least.unwrap_or(salt))
            })
        });
        Self {
            exact: (u128::from(fold(11)) << 64) | u128::from(fold(13)),
            bands: bands.collect(),
            shingles: shingles.into_iter().collect(),
        }
    }

    /// The Jaccard similarity of the two sets of shingles, from 0 to 1; two empty sets are 1.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b) = (self.shingles.iter().peekable(), other.shingles.iter().peekable());
        let (mut both, mut all) = (0_u32, 0_u32);
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let order = x.cmp(y);
            both += u32::from(order.is_eq());
            all += 1;
            if order.is_le() {
                a.next();
            }
            if order.is_ge() {
                b.next();
            }
        }
        let left = u32::try_from(a.count() + b.count()).unwrap_or(u32::MAX);
        all = all.saturating_add(left);
        if all == 0 { 1.0 } else { f64::from(both) / f64::from(all) }
    }
}

/// For each change the earlier kept one that it repeats, if any: an exact one if there is one,
/// else the first whose similarity is at least `near`. Without `near` only exact ones are found.
///
/// # Panics
/// If `near` is not within 0 to 1.
#[must_use]
pub fn duplicates(signatures: &[Signature], near: Option<f64>) -> Vec<Option<Duplicate>> {
    if let Some(near) = near {
        assert!((0.0..=1.0).contains(&near), "a similarity is within 0 to 1, not {near}");
    }
    // Only looked up, never iterated.
    let mut exact: HashMap<u128, usize> = HashMap::new();
    let mut buckets: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
    let mut found = Vec::with_capacity(signatures.len());
    for (place, signature) in signatures.iter().enumerate() {
        if let Some(&of) = exact.get(&signature.exact) {
            found.push(Some(Duplicate { of, is_exact: true }));
            continue;
        }
        let near = near.filter(|_| signature.shingles.len() >= LEAST_SHINGLES);
        let repeated = near.and_then(|near| {
            let keys = signature.bands.iter().copied().enumerate();
            let candidates: BTreeSet<usize> =
                keys.filter_map(|key| buckets.get(&key)).flatten().copied().collect();
            candidates.into_iter().find(|&of| signatures[of].similarity(signature) >= near)
        });
        if let Some(of) = repeated {
            found.push(Some(Duplicate { of, is_exact: false }));
            continue;
        }
        exact.insert(signature.exact, place);
        if near.is_some() {
            for key in signature.bands.iter().copied().enumerate() {
                buckets.entry(key).or_default().push(place);
            }
        }
        found.push(None);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Duplicate, Signature, duplicates, words};
    use crate::filter::hunk::ChangedFile;

    fn signature(path: &str, old: &str, new: &str) -> Signature {
        Signature::of(&[ChangedFile { path, old, new }])
    }

    /// 60 lines of a program; `changed` of them are other in every text with another `salt`.
    fn program(changed: usize, salt: usize) -> String {
        let line = |n: usize| {
            if n < changed {
                format!("value_{n} = compute_{salt}_{n}(left_{salt}, right)\n")
            } else {
                format!("value_{n} = function_{n}(left_{n}, right_{n}) + {n}\n")
            }
        };
        (0..60).map(line).collect()
    }

    #[test]
    fn words_of_lines() {
        assert_eq!(
            words("  a_b+=c1 (é)").collect::<Vec<_>>(),
            ["a_b", "+", "=", "c1", "(", "é", ")"]
        );
    }

    #[test]
    fn exact_and_near() {
        let first = signature("a.py", "", &program(0, 0));
        let layout = signature("a.py", "", &program(0, 0).replace(" = ", "  =  "));
        let moved = signature("b.py", "", &program(0, 0));
        let close = signature("a.py", "", &program(3, 1));
        let other = signature("a.py", "", &program(60, 2));
        let list = [first.clone(), layout, moved, close.clone(), other.clone()];
        let exact = Some(Duplicate { of: 0, is_exact: true });
        let near = Some(Duplicate { of: 0, is_exact: false });
        assert_eq!(duplicates(&list, Some(0.8)), [None, exact, near, near, None]);
        assert_eq!(duplicates(&list, None), [None, exact, None, None, None]);
        assert!(first.similarity(&close) > 0.8 && first.similarity(&other) < 0.1);
        assert!((first.similarity(&first) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn short_changes_are_only_compared_exactly() {
        let list = [
            signature("a.py", "return x + 1\n", "return x\n"),
            signature("b.py", "return x + 1\n", "return x\n"),
            signature("a.py", "return x + 1\n", "return x\n"),
        ];
        assert_eq!(
            duplicates(&list, Some(0.5)),
            [None, None, Some(Duplicate { of: 0, is_exact: true })]
        );
    }

    #[test]
    fn removal_is_not_addition() {
        let put = signature("a.py", "", &program(0, 0));
        let taken = signature("a.py", &program(0, 0), "");
        assert_eq!(duplicates(&[put, taken], Some(0.5)), [None, None]);
    }

    #[test]
    fn banding_finds_what_a_full_comparison_finds() {
        let list: Vec<Signature> =
            (0..40).map(|n| signature("a.py", "", &program(n, n % 3))).collect();
        let mut kept: Vec<usize> = Vec::new();
        for (place, found) in duplicates(&list, Some(0.8)).into_iter().enumerate() {
            let near = kept.iter().any(|&of| list[of].similarity(&list[place]) >= 0.8);
            assert_eq!(found.is_some(), near, "{place}");
            if found.is_none() {
                kept.push(place);
            }
        }
        assert!(kept.len() > 1 && kept.len() < 40, "{kept:?}");
    }
}
