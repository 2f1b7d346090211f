//! Events through parquet and the query tell what they tell when read one by one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swerl_data::curate::comments::CommentOptions;
use swerl_data::event::gharchive::{event_files, read_events};
use swerl_data::fold::Fold;
use swerl_data::ingest::read_aggregated;
use swerl_data::pull_request::PullRequest;
use swerl_data::{
    AggregateOptions, AggregateReport, CurateOptions, DataError, IngestOptions, NoProgress,
    RepositoryFolder, aggregate, curate_aggregated, curate_events, ingest, read_seeds,
};
use tempfile::TempDir;

use crate::fixture::{Pull, comment, issue, pull_events, write_events};
use crate::world::World;

/// Ingests and aggregates the events of a folder, into folders beside it.
fn stages(root: &Path, events: &str, parts: u16) -> Result<AggregateReport, DataError> {
    let options = AggregateOptions { parts, ..AggregateOptions::default() };
    ingest(root.join(events), root.join("in"), &IngestOptions::default(), &NoProgress)?;
    aggregate(root.join("in"), root.join(format!("out-{parts}")), &options, &NoProgress)
}

/// The fold of the events themselves.
fn plain_fold(folder: &Path) -> Fold {
    let mut fold = Fold::default();
    for file in event_files(folder).unwrap() {
        // Files are folded one by one and merged, as the in-memory path does.
        let mut one = Fold::default();
        read_events(&file, |event| one.add(event)).unwrap();
        fold.merge(one);
    }
    fold
}

fn merged(fold: &Fold) -> Vec<PullRequest> {
    fold.pull_requests().filter(|pull| pull.merged).cloned().collect()
}

/// Pull requests and issues are the same by both ways, however many parts there are.
#[track_caller]
fn check(files: &[(&str, Vec<Value>)]) -> AggregateReport {
    // A folder whose name is a trap for whoever takes paths for URLs or patterns.
    let dir = TempDir::with_prefix("a [b]*? %20 é").unwrap();
    for (name, events) in files {
        write_events(&dir.path().join("events").join(name), events);
    }
    let plain = plain_fold(&dir.path().join("events"));
    let mut reports = Vec::new();
    for parts in [1, 5] {
        reports.push(stages(dir.path(), "events", parts).unwrap());
        let read = read_aggregated(dir.path().join(format!("out-{parts}"))).unwrap();
        assert_eq!(merged(&read), merged(&plain), "{parts} parts");
        assert_eq!(read.pull_requests().count(), merged(&plain).len(), "only merged ones");
        for repo in ["acme/tool", "ACME/Other", "é/x"] {
            for number in 0..40 {
                assert_eq!(read.issue(repo, number), plain.issue(repo, number), "{repo}#{number}");
            }
        }
    }
    assert_eq!(reports[0].pull_requests, reports[1].pull_requests);
    assert_eq!(reports[0].pull_requests, plain.pull_requests().count() as u64);
    reports.swap_remove(0)
}

fn moved(mut event: Value, repo: &str) -> Value {
    event["repo"]["name"] = json!(repo);
    event
}

#[test]
fn hostile_events() {
    let base = Pull::new(7, &"a".repeat(40), &"b".repeat(40), &"c".repeat(40));
    let mut late = pull_events(10, &Pull { title: "Later title".to_owned(), ..base });
    // The same number and moment twice with other words: the first of the inputs holds.
    let mut twin = late[1].clone();
    twin["payload"]["pull_request"]["title"] = json!("Twin");
    late.push(twin);
    // Slim: later, merged, without title; the one with title holds.
    let mut slim = late[1].clone();
    slim["id"] = json!("99");
    slim["payload"]["pull_request"]["title"] = Value::Null;
    late.push(slim);
    // Merged by the action alone; by the flag alone; by neither.
    let plain = Pull { merged: None, ..Pull::new(8, "x", "y", "z") };
    let mut by_action = pull_events(20, &plain).swap_remove(1);
    by_action["payload"]["action"] = json!("merged");
    let mut by_flag = pull_events(22, &Pull { number: 9, ..plain.clone() }).swap_remove(1);
    by_flag["payload"]["pull_request"]["merged"] = json!(true);
    let unmerged = pull_events(24, &Pull { number: 10, ..plain });
    let user = json!({"login": "kim", "type": "User"});
    let at = "2020-01-31T01:00:00Z";
    let words = [
        issue(1, "2020-01-31T00:00:00Z", 1, "Wrong", "One", &["bug"]),
        comment(2, at, 1, (5, "created"), &user, "first"),
        comment(3, "2020-01-31T02:00:00Z", 1, (5, "edited"), &user, "second"),
        comment(4, "2020-01-31T03:00:00Z", 1, (6, "deleted"), &user, "gone"),
        // The same number and moment again: the last of the inputs holds.
        issue(1, "2020-01-31T00:00:00Z", 1, "Wrong again", "Two", &[]),
        moved(issue(7, at, 1, "Elsewhere", "\u{0}\u{2028}\"", &["a", ""]), "acme/OTHER"),
        moved(issue(8, at, 2, "é", "", &[]), "É/X"),
        issue(9, "2015-01-01T00:00:00-08:00", 30, "Old", "", &[]),
    ];
    let mut on_pull = comment(30, at, 7, (8, "created"), &user, "on a pull request");
    on_pull["payload"]["issue"]["pull_request"] = json!({"url": "u"});
    let first = [late, vec![by_action, by_flag, on_pull], unmerged].concat();
    let again: Vec<Value> = words.iter().cloned().map(|event| moved(event, "Acme/Tool")).collect();
    let report = check(&[
        ("2020-01-01-0.json.gz", first.clone()),
        ("2020-01-01-1.json.gz", words.iter().rev().cloned().collect()),
        ("b-2/x.json.gz", first),
        ("b/x.json.gz", again),
        ("b+2Fx.json.gz", vec![json!({"type": "WatchEvent"})]),
    ]);
    assert_eq!((report.pull_requests, report.unmerged), (4, 1));
}

#[test]
fn no_rows_at_all() {
    let report = check(&[("2020-01-01-0.json.gz", vec![json!({"type": "WatchEvent"})])]);
    assert_eq!((report.pull_requests, report.issue_events), (0, 0));
}

#[test]
fn many_events_with_little_memory() {
    let mut events = Vec::new();
    for n in 0..3_000_u64 {
        let number = n * 7_919 % 40;
        let at = format!("2020-01-{:02}T{:02}:{:02}:00Z", 1 + n % 28, n % 24, n * 31 % 60);
        events.push(issue(n, &at, number, &format!("t{n}"), &"words ".repeat(200), &["bug"]));
    }
    let dir = TempDir::new().unwrap();
    write_events(&dir.path().join("events/2020-01-01-0.json.gz"), &events);
    ingest(
        dir.path().join("events"),
        dir.path().join("in"),
        &IngestOptions::default(),
        &NoProgress,
    )
    .unwrap();
    let options = AggregateOptions { parts: 1, memory_bytes: 64 << 20 };
    let report =
        aggregate(dir.path().join("in"), dir.path().join("out"), &options, &NoProgress).unwrap();
    assert_eq!(report.issue_events, 3_000);
    let plain = plain_fold(&dir.path().join("events"));
    let read = read_aggregated(dir.path().join("out")).unwrap();
    assert!((0..40).all(|n| read.issue("acme/tool", n) == plain.issue("acme/tool", n)));
}

/// A world with a fix that closes an issue of another repository, and what drops.
fn world() -> World {
    let mut world = World::new();
    for number in [7, 8, 9] {
        let (base, head, merge) = world.merged(&format!("fix{number}"), |repo| {
            repo.write("tool/sum.py", format!("{number}\n"));
        });
        let body = if number == 8 { "Fixes acme/other#3" } else { "Fixes #1" }.to_owned();
        world.add(&Pull { body, ..Pull::new(number, &base, &head, &merge) });
    }
    let unmerged = Pull { merged: None, ..Pull::new(10, "a", "b", "c") };
    world.add(&unmerged);
    let elsewhere = issue(2, "2020-01-30T00:00:00Z", 3, "Fails", "Always.", &["bug"]);
    world.events.push(moved(elsewhere, "Acme/Other"));
    world.clone_repo();
    world
}

#[test]
fn seeds_and_report_are_those_of_the_events() {
    let world = world();
    let (seeds, report) = world.curate().unwrap();
    assert_eq!(report.kept, 3);
    let root = world.folder("");
    let clones = RepositoryFolder::new(world.folder("clones"));
    let options = CurateOptions::default();
    // In the second case the two repositories are in different parts.
    for parts in [1, 64] {
        stages(&root, "events", parts).unwrap();
        let (work, out) = (root.join(format!("work-{parts}")), root.join("seeds.jsonl"));
        let pulls = root.join(format!("out-{parts}"));
        let made = curate_aggregated(&pulls, &work, &out, &clones, &options, &NoProgress).unwrap();
        assert_eq!(made, report);
        assert_eq!(read_seeds(&out).unwrap(), seeds);
        let comments = CommentOptions { max_bytes: 1 };
        let other = CurateOptions { comments, ..options.clone() };
        let refused = curate_aggregated(&pulls, &work, &out, &clones, &other, &NoProgress);
        assert!(matches!(refused, Err(DataError::OtherInputs { .. })), "{refused:?}");
    }
    let again = curate_events(root.join("events"), &clones, &options, &NoProgress).unwrap();
    assert_eq!(again.1, report);
}

#[test]
fn stages_want_finished_ones_before_them() {
    let dir = TempDir::new().unwrap();
    write_events(
        &dir.path().join("events/2020-01-01-0.json.gz"),
        &[issue(1, "2020-01-31T00:00:00Z", 1, "t", "b", &[])],
    );
    let (inner, out): (PathBuf, PathBuf) = (dir.path().join("in"), dir.path().join("out-2"));
    stages(dir.path(), "events", 2).unwrap();
    let run = |parts| {
        let options = AggregateOptions { parts, ..AggregateOptions::default() };
        aggregate(&inner, &out, &options, &NoProgress)
    };
    assert_eq!(run(2).unwrap().resumed, 4);
    assert!(matches!(run(3), Err(DataError::OtherInputs { .. })));
    fs::remove_file(out.join("issues/part-0001.parquet")).unwrap();
    let unfinished = read_aggregated(&out);
    assert!(matches!(unfinished, Err(DataError::Unfinished { .. })), "{unfinished:?}");
    assert_eq!(run(2).unwrap().resumed, 3);
    fs::write(out.join("pulls/part-0000.parquet"), "PAR1 torn PAR1").unwrap();
    let torn = read_aggregated(&out).unwrap_err();
    assert!(torn.to_string().contains("pulls/part-0000.parquet: the parquet file is damaged"));
    fs::remove_file(inner.join("ingest.json")).unwrap();
    let error = run(2).unwrap_err().to_string();
    assert!(error.ends_with("not finished; run swerl curate ingest again"), "{error}");
}
