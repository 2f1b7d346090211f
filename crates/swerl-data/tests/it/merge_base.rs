//! Merge bases against the `git` program.

use std::fmt::Write;

use proptest::prelude::*;
use swerl_data::ObjectId;
use swerl_data::git::Repository;
use swerl_data::git::graph::{CommitGraph, Marks};

use crate::fixture::TestRepo;

/// Makes commits with the given parents (numbers of earlier commits) and dates, without content.
fn import(repo: &TestRepo, parents: &[Vec<usize>], dates: &[u32]) -> Vec<ObjectId> {
    let mut script = String::new();
    for (number, (parents, date)) in parents.iter().zip(dates).enumerate() {
        let mark = number + 1;
        write!(script, "reset refs/heads/b{mark}\ncommit refs/heads/b{mark}\nmark :{mark}\n")
            .unwrap();
        writeln!(script, "committer A <a@b> {} +0000", 1_600_000_000 + date).unwrap();
        writeln!(script, "data 1\n{}", number % 10).unwrap();
        for (place, parent) in parents.iter().enumerate() {
            let word = if place == 0 { "from" } else { "merge" };
            writeln!(script, "{word} :{}", parent + 1).unwrap();
        }
        script.push('\n');
    }
    repo.git_with(&["fast-import", "--quiet"], script.as_bytes());
    let names: Vec<String> = (1..=parents.len()).map(|mark| format!("b{mark}")).collect();
    let mut arguments = vec!["rev-parse"];
    arguments.extend(names.iter().map(String::as_str));
    repo.git(&arguments).lines().map(|id| id.parse().unwrap()).collect()
}

/// Every pair must have exactly git's answer, in either order where `both_orders`.
fn check_all_pairs(parents: &[Vec<usize>], dates: &[u32], both_orders: bool) {
    let repo = TestRepo::new();
    let ids = import(&repo, parents, dates);
    let repository = Repository::open(repo.path()).unwrap();
    let graph = CommitGraph::load(&repository, &ids).unwrap();
    let mut marks = Marks::default();
    for (number, &a) in ids.iter().enumerate() {
        let from = if both_orders { 0 } else { number };
        for &b in &ids[from..] {
            let git = repository.merge_base(a, b).unwrap();
            let ours = graph.merge_base(&repository, a, b, &mut marks).unwrap();
            assert_eq!(ours, git, "{a} {b} {parents:?} {dates:?}");
            let all = graph.merge_bases(a, b, &mut marks);
            assert_eq!(all.is_empty(), git.is_none());
            assert!(git.is_none_or(|base| all.contains(&base)));
        }
    }
}

#[test]
fn known_shapes() {
    let none = Vec::new;
    // A line; a fork; two roots; criss-cross merges; a branch that merged its target.
    check_all_pairs(&[none(), vec![0], vec![1]], &[1, 2, 3], true);
    check_all_pairs(&[none(), vec![0], vec![0], vec![1, 2]], &[1, 2, 3, 4], true);
    check_all_pairs(&[none(), none(), vec![0], vec![1]], &[1, 2, 3, 4], true);
    let criss_cross = [none(), vec![0], vec![0], vec![1, 2], vec![2, 1], vec![3], vec![4]];
    check_all_pairs(&criss_cross, &[1, 2, 3, 4, 5, 6, 7], true);
    check_all_pairs(&criss_cross, &[5, 5, 5, 5, 5, 5, 5], true);
    check_all_pairs(
        &[none(), vec![0], vec![0], vec![2, 1], vec![1], vec![3]],
        &[1, 2, 3, 4, 5, 6],
        true,
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    /// Random histories, clocks that go backwards included.
    #[test]
    fn random_histories(
        picks in prop::collection::vec((any::<u16>(), any::<u16>(), 0_u8..8), 8),
        dates in prop::collection::vec(0_u32..6, 8),
    ) {
        let parents: Vec<Vec<usize>> = picks
            .iter()
            .enumerate()
            .map(|(number, &(first, second, kind))| match (number, kind) {
                (0, _) | (_, 0) => Vec::new(),
                (1, _) | (_, 1..=3) => vec![usize::from(first) % number],
                _ => {
                    let first = usize::from(first) % number;
                    let second = usize::from(second) % number;
                    if first == second { vec![first] } else { vec![first, second] }
                }
            })
            .collect();
        check_all_pairs(&parents, &dates, false);
    }
}
