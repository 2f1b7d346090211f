//! Seeds to be trusted: round trips, repetitions, forks, licences, dates, and what is noted.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use swerl_data::filter::licence::PERMISSIVE;
use swerl_data::{
    CurateOptions, CurateReport, DropReason, FilterOptions, NoProgress, Note, RepositoryOptions,
    SeedExample, curate_repository,
};

use crate::fixture::TestRepo;

fn curate(repo: &TestRepo, filters: FilterOptions) -> (Vec<SeedExample>, CurateReport) {
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let options = CurateOptions { filters, ..CurateOptions::default() };
    let (seeds, report) = curate_repository(repo.path(), &from, &options, &NoProgress).unwrap();
    assert!(report.adds_up(), "{report}");
    (seeds, report)
}

fn start() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 0\n").write("old.py", "one\ntwo\nthree\n").write("gone.py", "x\n");
    repo.commit("Start");
    repo
}

#[test]
fn the_oracle_gives_the_merged_tree() {
    let repo = start();
    repo.git(&["mv", "old.py", "moved.py"]);
    repo.write("moved.py", "one\ntwo\nfour\n").remove("gone.py").write("a.py", "a = 1\r\n");
    repo.write("empty.py", "").write("deep/new.py", "no end of line");
    repo.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(repo.path().join("a.py"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.commit("Fix it (#2)");
    let (seeds, report) = curate(&repo, FilterOptions::default());
    let mut after = seeds[0].context();
    after.extend(seeds[0].oracle.clone());
    for path in ["a.py", "moved.py", "deep/new.py", "run.sh"] {
        // `git show` ends without the last line end that `TestRepo::git` trims.
        let merged = fs::read_to_string(repo.path().join(path)).unwrap();
        assert_eq!(after[path], merged, "{path}");
    }
    for path in ["old.py", "gone.py"] {
        assert_eq!(after[path], "", "{path}");
    }
    assert!(!after.contains_key("empty.py"));
    let notes = [
        Note::Rename,
        Note::ModeChange,
        Note::Addition,
        Note::Deletion,
        Note::EmptyFile,
        Note::CarriageReturn,
    ];
    assert_eq!(report.notes, notes.map(|note| (note, 1)).into_iter().collect());
    assert_eq!(report.dropped.get(&DropReason::RoundTrip), None);
}

#[test]
fn repetitions_are_dropped_after_the_first() {
    let repo = start();
    let line = |n: usize| format!("value_{n} = function_{n}(left_{n}, right_{n})\n");
    let program: String = (0..40).map(line).collect();
    repo.write("b.py", &program);
    repo.commit("Fix the table (#2)");
    repo.remove("b.py");
    repo.commit("Take it out");
    repo.write("b.py", &program);
    repo.commit("Fix the table again (#3)");
    repo.write("c.py", program.replace("value_7 =", "value_8 ="));
    repo.commit("Fix the other table (#4)");
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix a (#5)");
    let (seeds, report) = curate(&repo, FilterOptions::default());
    let numbers: Vec<u64> = seeds.iter().map(|seed| seed.pull_request).collect();
    assert_eq!(numbers, [2, 5]);
    assert_eq!(report.dropped[&DropReason::ExactDuplicate], 1);
    assert_eq!(report.dropped[&DropReason::NearDuplicate], 1);
    let exact = FilterOptions { near_duplicates: None, ..FilterOptions::default() };
    assert_eq!(curate(&repo, exact).0.len(), 3);
}

#[test]
fn forks_dates_and_instances_for_evaluation() {
    let repo = start();
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix it (#2)");
    let root = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let merged: swerl_data::time::Timestamp = "2020-01-01T00:02:00Z".parse().unwrap();
    let later = swerl_data::time::Timestamp(merged.0 + 1);
    let plain = FilterOptions::default;
    for (filters, expected) in [
        (plain(), None),
        (FilterOptions { excluded_roots: vec![root], ..plain() }, Some(DropReason::ForkOfExcluded)),
        (
            FilterOptions { excluded_instances: ["acme__tool-2".to_owned()].into(), ..plain() },
            Some(DropReason::ExcludedInstance),
        ),
        (FilterOptions { merged_before: Some(merged), ..plain() }, Some(DropReason::AfterDateCut)),
        (FilterOptions { merged_before: Some(later), ..plain() }, None),
    ] {
        let (seeds, report) = curate(&repo, filters);
        let mut dropped = BTreeMap::from([(DropReason::DirectCommit, 1)]);
        dropped.extend(expected.map(|reason| (reason, 1)));
        assert_eq!(report.dropped, dropped);
        assert_eq!(seeds.len(), usize::from(expected.is_none()));
    }
}

#[test]
fn licences_of_the_time() {
    let repo = start();
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix without a licence (#2)");
    repo.write("COPYING", "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n");
    repo.commit("Copyleft");
    repo.write("a.py", "a = 2\n");
    repo.commit("Fix under the GPL (#3)");
    repo.remove("COPYING").write(
        "LICENSE-MIT",
        "Permission is hereby granted, free of charge, to any person obtaining a copy\n",
    );
    repo.write("LICENSE-APACHE", "Apache License\nVersion 2.0, January 2004\n");
    repo.commit("Permissive");
    repo.write("a.py", "a = 3\n");
    repo.commit("Fix under two (#4)");
    let (seeds, report) = curate(&repo, FilterOptions::default());
    assert_eq!(seeds.len(), 3);
    let counts = [("Apache-2.0", 1), ("GPL-3.0", 1), ("MIT", 1), ("NONE", 1)]
        .map(|(n, c)| (n.to_owned(), c));
    assert_eq!(report.licences, BTreeMap::from(counts));
    let allowed = Some(PERMISSIVE.map(str::to_owned).into());
    let (seeds, report) = curate(&repo, FilterOptions { licences: allowed, ..Default::default() });
    assert_eq!((seeds.len(), seeds[0].pull_request), (1, 4));
    assert_eq!(report.dropped[&DropReason::Licence], 2);
}
