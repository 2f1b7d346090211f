//! Splits share no repository and do not move when repositories are added.

use std::collections::BTreeSet;

use swerl_data::split::repository_hash;
use swerl_data::{HeldOut, SeedExample, split_by_repository};

use crate::fixture::seed;

fn seeds(repositories: usize) -> Vec<SeedExample> {
    (0..repositories * 2).map(|n| seed(&format!("acme/r{}", n / 2), n as u64)).collect()
}

fn names<'a>(side: &[&'a SeedExample]) -> BTreeSet<&'a str> {
    side.iter().map(|seed| seed.repo.as_str()).collect()
}

#[test]
fn by_share() {
    let all = seeds(1_000);
    let rule = HeldOut::Share { share: 0.2, seed: 3 };
    let split = split_by_repository(&all, &rule);
    assert_eq!(split.train.len() + split.held_out.len(), all.len());
    assert!(names(&split.train).is_disjoint(&names(&split.held_out)));
    // 1,000 draws at 0.2: four standard deviations are 0.05.
    assert!((150..=250).contains(&names(&split.held_out).len()));

    let few = seeds(500);
    let fewer = split_by_repository(&few, &rule);
    assert!(names(&fewer.held_out).is_subset(&names(&split.held_out)));
    assert!(names(&fewer.train).is_subset(&names(&split.train)));
    assert!(split_by_repository(&few, &HeldOut::Share { share: 0.0, seed: 3 }).held_out.is_empty());
    assert!(split_by_repository(&few, &HeldOut::Share { share: 1.0, seed: 3 }).train.is_empty());
}

#[test]
fn by_name() {
    let all = seeds(3);
    let split =
        split_by_repository(&all, &HeldOut::Repositories(BTreeSet::from(["ACME/r1".to_owned()])));
    assert_eq!(names(&split.held_out), BTreeSet::from(["acme/r1"]));
    let ids: Vec<u64> = split.train.iter().map(|seed| seed.pull_request).collect();
    assert_eq!(ids, [0, 1, 4, 5]);
}

#[test]
fn the_hash_is_pinned() {
    // Computed by the loop in tests/golden/split.py.
    assert_eq!(repository_hash("acme/tool", 0), repository_hash("Acme/Tool", 0));
    for (name, seed, expected) in include_str!("../golden/split.tsv").lines().map(|line| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        (next(), next().parse::<u64>().unwrap(), next().parse::<f64>().unwrap())
    }) {
        assert_eq!(repository_hash(name, seed).to_bits(), expected.to_bits(), "{name} {seed}");
    }
}

#[test]
#[should_panic(expected = "a share is within 0 to 1")]
fn impossible_share() {
    let _ = split_by_repository(&[], &HeldOut::Share { share: 1.5, seed: 0 });
}
