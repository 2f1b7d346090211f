//! Events and a clone to seeds.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use swerl_data::{
    CurateOptions, DataError, DropReason, FileRole, IssueSource, NoProgress, RepositoryFolder,
    curate_events,
};
use tempfile::TempDir;

use crate::fixture::{Pull, issue, roles, write_events};
use crate::world::World;

#[test]
fn a_fix_becomes_a_seed() {
    let mut world = World::new();
    let fixed = "import os\nfrom tool import names\n\ndef total(xs):\n    return sum(xs)\n";
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", fixed).remove("tool/other.py").write("tool/new.py", "NEW = 1\n");
        repo.write("tool/__init__.py", "");
    });
    world.add(&Pull::new(7, &base, &head, &merge));
    world.events.push(json!({"id": "9", "type": "WatchEvent", "payload": {"action": "started"}}));
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!((report.inputs, report.kept, report.events, report.event_files), (1, 1, 4, 1));
    let seed = &seeds[0];
    assert_eq!(seed.id, "acme/tool#7");
    assert_eq!((&seed.base_commit, &seed.head_commit), (&base, &head));
    assert_eq!(seed.merge_commit.as_ref(), Some(&merge));
    assert_eq!(seed.merged_at.as_deref(), Some("2020-02-02T00:07:00Z"));
    assert_eq!(seed.issue.source, IssueSource::LinkedIssue);
    assert_eq!(seed.issue_text(), "Wrong total\n\nIt is one too many.");
    assert_eq!(seed.issue.url.as_deref(), Some("https://github.com/acme/tool/issues/1"));
    let expected = [
        ("tool/other.py", FileRole::Edit),
        ("tool/sum.py", FileRole::Edit),
        ("tool/names.py", FileRole::Relevant),
    ];
    assert_eq!(roles(seed), expected);
    let oracle: BTreeMap<String, String> =
        [("tool/sum.py", fixed), ("tool/other.py", ""), ("tool/new.py", "NEW = 1\n")]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into();
    assert_eq!(seed.oracle, oracle);
}

#[test]
fn files_are_those_of_the_merge_base() {
    let mut world = World::new();
    let opened_at = world.repo.git(&["rev-parse", "main"]);
    // The target moves on, the branch merges it, the target moves on again.
    world.repo.branch("fix", "main").write("tool/sum.py", "A\n");
    world.repo.commit("First try");
    world.repo.checkout("main").write("tool/names.py", "MOVED\n");
    let moved = world.repo.commit("Other work");
    world.repo.checkout("fix");
    world.repo.merge(&["main"], "Merge branch 'main' into fix");
    world.repo.write("tool/sum.py", "B\n");
    let head = world.repo.commit("Second try");
    world.repo.checkout("main").write("tool/other.py", "LATER\n");
    world.repo.commit("More work");
    let merge = world.repo.merge(&["fix"], "Merge fix");
    world.add(&Pull::new(7, &opened_at, &head, &merge));
    world.clone_repo();
    let (seeds, _) = world.curate().unwrap();
    assert_eq!(seeds[0].base_commit, moved);
    assert_eq!(seeds[0].base_commit, world.repo.git(&["merge-base", "main^1", "fix"]));
    assert_eq!(seeds[0].oracle.keys().collect::<Vec<_>>(), ["tool/sum.py"]);
    assert_eq!(seeds[0].context()["tool/names.py"], "MOVED\n");
    assert_eq!(seeds[0].context()["tool/other.py"], "OTHER = 1\n");
}

#[test]
fn a_squashed_head_may_be_missing() {
    let mut world = World::new();
    world.repo.write("tool/sum.py", "A\n");
    let squash = world.repo.commit("Fix the sum (#7)");
    let gone = "1".repeat(40);
    world.add(&Pull::new(7, &gone, &gone, &squash));
    // A rebased one cannot be told from its last commit.
    world.repo.write("tool/sum.py", "B\n");
    let rebased = world.repo.commit("Fix the sum");
    world.add(&Pull::new(8, &gone, &gone, &rebased));
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!((seeds[0].pull_request, &seeds[0].head_commit), (7, &squash));
    assert_eq!(report.dropped, BTreeMap::from([(DropReason::MissingCommit, 1)]));
}

#[test]
fn only_what_was_known_before_the_fix() {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    // Edited after the pull request was opened: the edit gives the fix away.
    world.events.push(issue(
        2,
        "2020-02-01T12:00:00Z",
        1,
        "Wrong total",
        "Drop the + 1.",
        &["bug"],
    ));
    // First seen after it was opened.
    world.events.push(issue(3, "2020-02-01T12:00:00Z", 2, "Late", "Drop the + 1.", &["bug"]));
    world.add(&Pull::new(7, &base, &head, &merge));
    let late = Pull { body: "Fixes #2".to_owned(), ..Pull::new(8, &base, &head, &merge) };
    world.add(&late);
    world.events.reverse();
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!(seeds.len(), 1);
    assert_eq!(seeds[0].issue.body, "It is one too many.");
    assert_eq!(report.dropped, BTreeMap::from([(DropReason::IssueUnknown, 1)]));
}

#[test]
fn order_and_parallelism_do_not_matter() {
    let mut world = World::new();
    for number in [12, 3, 8] {
        let (base, head, merge) = world.merged(&format!("fix{number}"), |repo| {
            repo.write("tool/sum.py", format!("{number}\n"));
        });
        world.add(&Pull::new(number, &base, &head, &merge));
    }
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    let numbers: Vec<u64> = seeds.iter().map(|seed| seed.pull_request).collect();
    assert_eq!(numbers, [3, 8, 12]);
    // The same events, one file each, in folders, the other way round.
    let split = world.folder("split");
    for (number, event) in world.events.iter().rev().enumerate() {
        write_events(
            &split.join(format!("{}/h-{number}.json.gz", number % 2)),
            std::slice::from_ref(event),
        );
    }
    let clones = RepositoryFolder::new(world.folder("clones"));
    let (again, second) =
        curate_events(&split, &clones, &CurateOptions::default(), &NoProgress).unwrap();
    assert_eq!(again, seeds);
    assert_eq!((second.kept, second.events), (report.kept, report.events));
}

#[track_caller]
fn check_error(path: &Path, events: &Path, expected: &str, cause: &str) {
    let clones = RepositoryFolder::new(path);
    let error = curate_events(events, &clones, &CurateOptions::default(), &NoProgress).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(source.contains(cause), "{source}");
}

#[test]
fn faults_are_named() {
    let dir = TempDir::new().unwrap();
    let events = dir.path().join("events");
    check_error(dir.path(), &events, "cannot read", "No such file");
    fs::create_dir(&events).unwrap();
    check_error(dir.path(), &events, "no *.json.gz file in this folder", "");

    let file = events.join("2020-01-01-0.json.gz");
    let many: Vec<Value> = (0..2_000)
        .map(|n| issue(n, "2020-01-31T00:00:00Z", n + 1, &format!("t{n}"), "", &[]))
        .collect();
    write_events(&file, &many);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    check_error(dir.path(), &events, "2020-01-01-0.json.gz: the gzip stream is truncated", "");
    fs::write(&file, "no gzip at all").unwrap();
    check_error(
        dir.path(),
        &events,
        "2020-01-01-0.json.gz: the gzip stream is truncated or damaged after 0",
        "gzip header",
    );

    write_events(&file, &[many[0].clone(), json!({"type": "IssuesEvent", "id": "1"})]);
    check_error(
        dir.path(),
        &events,
        "2020-01-01-0.json.gz:2: not a GH Archive event",
        "missing field",
    );
    write_events(&file, &[json!([1])]);
    check_error(dir.path(), &events, "2020-01-01-0.json.gz:1: not a GH Archive event", "");
    let mut bad_time = many[0].clone();
    bad_time["created_at"] = json!("yesterday");
    write_events(&file, &[bad_time]);
    check_error(dir.path(), &events, ":1: not a GH Archive event", "'yesterday' is not a moment");
}

#[test]
fn a_clone_without_objects() {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    world.add(&Pull::new(7, &base, &head, &merge));
    world.clone_repo();
    let objects = world.folder("clones/acme/tool.git/objects");
    fs::remove_dir_all(&objects).unwrap();
    fs::create_dir(&objects).unwrap();
    let error = world.curate().unwrap_err();
    assert!(matches!(error, DataError::NoCommit { .. }), "{error}");
    assert!(error.to_string().contains("tool.git"), "{error}");
    fs::remove_dir(&objects).unwrap();
    let error = world.curate().unwrap_err();
    assert!(error.to_string().contains("tool.git"), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}
