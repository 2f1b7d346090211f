//! Event files have the archive's names and layout, and tell a consistent story.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::Corpus;

#[test]
fn every_event_lies_in_the_file_of_its_hour() {
    use std::io::Read;
    let corpus = Corpus::shared();
    let files = corpus.event_files();
    assert_eq!(files.len(), corpus.report.hours);
    let mut count = 0;
    for (name, bytes) in files {
        // No time in the gzip header.
        assert_eq!(bytes[4..8], [0; 4], "{name}");
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        let (day, hour) = name.strip_suffix(".json.gz").unwrap().rsplit_once('-').unwrap();
        let start = format!("{day}T{:02}:", hour.parse::<u8>().unwrap());
        for line in text.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            assert!(event["created_at"].as_str().unwrap().starts_with(&start), "{name}");
            count += 1;
        }
    }
    assert_eq!(count, corpus.report.events);
}

#[test]
fn the_layout_is_that_of_the_archive() {
    let mut seen = BTreeSet::new();
    for event in Corpus::shared().events() {
        let kind = event["type"].as_str().unwrap().to_owned();
        for pointer in
            ["/actor/id", "/actor/login", "/repo/id", "/repo/name", "/public", "/created_at"]
        {
            assert!(event.pointer(pointer).is_some(), "{kind} {pointer}");
        }
        let wanted: &[&str] = match kind.as_str() {
            "PullRequestEvent" => &[
                "action",
                "number",
                "pull_request/number",
                "pull_request/title",
                "pull_request/body",
                "pull_request/state",
                "pull_request/user/login",
                "pull_request/user/type",
                "pull_request/labels",
                "pull_request/head/sha",
                "pull_request/head/ref",
                "pull_request/base/sha",
                "pull_request/base/ref",
                "pull_request/base/repo/full_name",
                "pull_request/merged",
                "pull_request/merged_at",
                "pull_request/merge_commit_sha",
                "pull_request/additions",
                "pull_request/deletions",
                "pull_request/changed_files",
                "pull_request/commits",
                "pull_request/created_at",
                "pull_request/closed_at",
            ],
            "IssuesEvent" => &[
                "action",
                "issue/number",
                "issue/title",
                "issue/body",
                "issue/labels",
                "issue/user/login",
                "issue/state",
                "issue/html_url",
            ],
            "IssueCommentEvent" => &["action", "issue/number", "comment/body", "comment/user/type"],
            "PushEvent" => &["ref", "head", "before", "size", "commits/0/sha", "commits/0/message"],
            "CreateEvent" | "DeleteEvent" => &["ref", "ref_type"],
            "WatchEvent" => &["action"],
            other => panic!("unexpected event type {other}"),
        };
        for path in wanted {
            let pointer = format!("/payload/{path}");
            assert!(event.pointer(&pointer).is_some(), "{kind} {pointer}");
        }
        seen.insert(kind);
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
}

/// The number behind the last `#` of a body.
fn link(body: &Value) -> Option<u64> {
    body.as_str()?.rsplit_once('#')?.1.parse().ok()
}

#[test]
fn every_fix_closes_a_short_issue_that_names_its_function() {
    let corpus = Corpus::shared();
    let mut issues = BTreeMap::new();
    let mut linked = 0;
    for event in corpus.events() {
        let name = event["repo"]["name"].as_str().unwrap().to_owned();
        let (payload, time) = (&event["payload"], event["created_at"].as_str().unwrap().to_owned());
        if event["type"] == "IssuesEvent" && payload["action"] == "opened" {
            let issue = payload["issue"].clone();
            issues.insert((name, issue["number"].as_u64().unwrap()), (time, issue));
            continue;
        }
        if event["type"] != "PullRequestEvent" || payload["action"] != "opened" {
            continue;
        }
        let number = payload["number"].as_u64().unwrap();
        let repository = corpus.report.repositories.iter().find(|r| r.name == name).unwrap();
        if !repository.fixes.contains_key(&number) {
            continue;
        }
        let link = link(&payload["pull_request"]["body"]).expect("a fix has a link");
        assert!(link < number, "the issue comes first");
        let (opened, issue) = &issues[&(name.clone(), link)];
        assert!(*opened < time);
        let (title, body) = (issue["title"].as_str().unwrap(), issue["body"].as_str().unwrap());
        let words = title.split_whitespace().count() + body.split_whitespace().count();
        assert!(words < 45, "{words} words: {title} {body}");
        let named = |function: &str| body.contains(&format!("`{function}`"));
        assert!(repository.functions.iter().any(|f| named(&f.name)), "{title} {body}");
        assert!(!title.contains(['$', '{']) && !body.contains("{f}") && !body.contains('$'));
        linked += 1;
    }
    assert_eq!(linked, corpus.report.pull_requests);
}

#[test]
fn noise_is_of_every_kind_and_counted() {
    let corpus = Corpus::shared();
    let mut pulls = 0;
    let mut bots = 0;
    for event in corpus.events() {
        if event["type"] == "PullRequestEvent" && event["payload"]["action"] == "closed" {
            pulls += 1;
            let user = &event["payload"]["pull_request"]["user"];
            let is_bot = user["login"].as_str().unwrap().ends_with("[bot]");
            assert_eq!(user["type"] == "Bot", is_bot);
            bots += usize::from(is_bot);
        }
    }
    let noise = &corpus.report.noise;
    assert_eq!(bots, noise["bot_bump"]);
    let noise_pulls: usize =
        noise.iter().filter(|(kind, _)| *kind != "direct_push").map(|(_, count)| count).sum();
    assert_eq!(pulls, corpus.report.pull_requests + noise_pulls);
    let kinds: Vec<&str> = noise.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        [
            "bot_bump",
            "direct_push",
            "docs_only",
            "feature",
            "lock_file_only",
            "no_issue",
            "unmerged"
        ]
    );
}
