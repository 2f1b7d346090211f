//! Every reason to drop a pull request, from events and a clone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use swerl_data::DropReason;

use crate::fixture::{Pull, TestRepo, issue};
use crate::world::World;

/// Curates a world to which every case adds one pull request, and compares the reasons.
#[track_caller]
fn check_drops(cases: Vec<(DropReason, Case)>) {
    let mut world = World::new();
    let (base, head, merge) = world.merged("fix", |repo| {
        repo.write("tool/sum.py", "A\n");
    });
    let mut expected = BTreeMap::new();
    for (number, (reason, adjust)) in (10..).zip(cases) {
        let mut pull = Pull::new(number, &base, &head, &merge);
        adjust(&mut world, &mut pull);
        world.add(&pull);
        *expected.entry(reason).or_insert(0) += 1;
    }
    world.clone_repo();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!(report.dropped, expected);
    assert!(seeds.is_empty());
}

type Case = Box<dyn FnOnce(&mut World, &mut Pull)>;

fn case(adjust: impl FnOnce(&mut World, &mut Pull) + 'static) -> Case {
    Box::new(adjust)
}

/// A pull request that makes this change.
fn change(change: impl FnOnce(&TestRepo) + 'static) -> Case {
    case(move |world, pull| {
        let (base, head, merge) = world.merged(&format!("b{}", pull.number), change);
        *pull = Pull::new(pull.number, &base, &head, &merge);
    })
}

/// A pull request that closes an issue of its own.
fn closing(title: &'static str, body: &'static str, labels: &'static [&'static str]) -> Case {
    case(move |world, pull| {
        let number = 100 + pull.number;
        world.events.push(issue(number, "2020-01-31T00:00:00Z", number, title, body, labels));
        pull.body = format!("Fixes #{number}");
    })
}

#[test]
fn every_text_reason() {
    check_drops(vec![
        (DropReason::Unmerged, case(|_, pull| pull.merged = None)),
        (DropReason::Bot, case(|_, pull| pull.user = json!({"login": "helper", "type": "Bot"}))),
        (DropReason::Bot, case(|_, pull| pull.title = "Bump x from 1 to 2".to_owned())),
        (DropReason::Revert, case(|_, pull| pull.title = "Revert \"Fix the sum\"".to_owned())),
        (DropReason::NoLinkedIssue, case(|_, pull| pull.body = "See #1".to_owned())),
        (DropReason::IssueUnknown, case(|_, pull| pull.body = "Fixes #99".to_owned())),
        (
            DropReason::IssueUnknown,
            case(|world, pull| {
                let mut event = issue(50, "2020-01-31T00:00:00Z", 50, "No issue", "", &["bug"]);
                event["payload"]["issue"]["pull_request"] = json!({"url": "x"});
                world.events.push(event);
                pull.body = "Fixes #50".to_owned();
            }),
        ),
        (DropReason::NotABug, closing("Wrong total", "", &["enhancement"])),
        (DropReason::NotABug, closing("Add a menu", "", &[])),
        (DropReason::NoIssueText, closing("", " ", &["bug"])),
        (
            DropReason::MissingCommit,
            case(|_, pull| {
                pull.head = "2".repeat(40);
                pull.merge = None;
            }),
        ),
        (
            DropReason::MissingCommit,
            case(|_, pull| {
                pull.head = "no id".to_owned();
                pull.merge = None;
            }),
        ),
    ]);
}

#[test]
fn every_change_reason() {
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    check_drops(vec![
        (DropReason::EmptyChange, change(|_| {})),
        (
            DropReason::EmptyChange,
            change(|repo| {
                repo.write("tool/__init__.py", "");
            }),
        ),
        (
            DropReason::EmptyChange,
            change(|repo| {
                let path = repo.path().join("tool/sum.py");
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }),
        ),
        (
            DropReason::TooManyFiles,
            change(|repo| {
                (0..17).for_each(|number| {
                    repo.write(&format!("tool/n{number}.py"), "x\n");
                });
            }),
        ),
        (
            DropReason::LockFilesOnly,
            change(|repo| {
                repo.write("Cargo.lock", "x\n").write("web/yarn.lock", "y\n");
            }),
        ),
        (
            DropReason::DocsOnly,
            change(|repo| {
                repo.write("README.md", "tool 2.0\n");
            }),
        ),
        (
            DropReason::NoProgrammingFile,
            change(|repo| {
                repo.write("README.md", "tool 4.0\n").write("Makefile", "all:\n");
            }),
        ),
        (
            DropReason::VendoredOnly,
            change(|repo| {
                repo.write("vendor/x.py", "x\n");
            }),
        ),
        (
            DropReason::MinifiedOnly,
            change(|repo| {
                repo.write("web/a.min.js", "x\n");
            }),
        ),
        (
            DropReason::GeneratedOnly,
            change(|repo| {
                repo.write("tool/made.py", "# This file is autogenerated by make.\nx\n");
            }),
        ),
        (
            DropReason::NotebooksOnly,
            change(|repo| {
                repo.write("a.ipynb", "{}\n");
            }),
        ),
        (
            DropReason::DataFilesOnly,
            change(|repo| {
                repo.write("a.json", "{}\n");
            }),
        ),
        (
            DropReason::WhitespaceOnly,
            change(|repo| {
                repo.write("tool/other.py", "\nOTHER = 1 \n");
            }),
        ),
        (
            DropReason::TestsOnly,
            change(|repo| {
                repo.write("tests/test_sum.py", "x\n").write("README.md", "tool 3.0\n");
            }),
        ),
        (
            DropReason::TooLarge,
            change(|repo| {
                repo.write("tool/wide.py", "x".repeat(200_000));
            }),
        ),
        (
            DropReason::TooLarge,
            change(|repo| {
                repo.write("tool/long.py", "x\n".repeat(1_001));
            }),
        ),
        (
            DropReason::BinaryFile,
            change(|repo| {
                repo.write("tool/sum.py", "B\n").write("logo.png", b"\x89PNG\0");
            }),
        ),
        (
            DropReason::LfsPointer,
            change(move |repo| {
                repo.write("tool/sum.py", "C\n").write("model.bin", lfs);
            }),
        ),
        (
            DropReason::NonUtf8,
            change(|repo| {
                repo.write("tool/cafe.py", b"# caf\xe9\n");
            }),
        ),
        (
            DropReason::VersionBumpOnly,
            case(|world, pull| {
                let (base, head, _) = world.merged("bump", |repo| {
                    repo.write("tool/version.py", "VERSION = '1.0.0'\n");
                    repo.commit("Prepare");
                    repo.write("tool/version.py", "VERSION = '1.0.1'\n");
                });
                let prepared = world.repo.git(&["rev-parse", &format!("{head}^")]);
                assert_ne!(prepared, base);
                *pull = Pull::new(pull.number, &prepared, &head, &head);
                pull.merge = None;
            }),
        ),
    ]);
}

#[test]
fn other_drops() {
    let mut world = World::new();
    world.add(&Pull::new(7, "x", "y", "z"));
    // No clone was made.
    let (_, report) = world.curate().unwrap();
    assert_eq!(report.dropped, BTreeMap::from([(DropReason::MissingRepository, 1)]));

    let text = serde_json::to_string(&world.events).unwrap().replace("acme/tool", "Django/django");
    world.events = serde_json::from_str(&text).unwrap();
    let (_, report) = world.curate().unwrap();
    assert_eq!(report.dropped, BTreeMap::from([(DropReason::ExcludedRepository, 1)]));

    for event in &mut world.events {
        if let Some(pull) = event["payload"]["pull_request"].as_object_mut() {
            pull.retain(|key, _| ["id", "number", "url", "head", "base"].contains(&key.as_str()));
            event["payload"]["action"] = json!("merged");
        }
    }
    let (_, report) = world.curate().unwrap();
    assert_eq!(report.dropped, BTreeMap::from([(DropReason::SlimPayload, 1)]));
}
