//! Repositories are sound, and every merged pull request is a true merge of one small fix.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Corpus, git};

#[test]
fn git_finds_every_repository_sound() {
    let corpus = Corpus::shared();
    for repository in &corpus.report.repositories {
        let folder = corpus.repository(&repository.name);
        assert_eq!(git(&folder, &["fsck", "--full", "--strict"]), "", "{}", repository.name);
        assert_eq!(git(&folder, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        let commits = git(&folder, &["rev-list", "--first-parent", "--count", "main"]);
        assert_eq!(commits.trim(), repository.main_commits.to_string());
    }
}

/// The closed events of pull requests that fix a reported bug: repository, number, payload.
fn fixes(corpus: &Corpus) -> Vec<(String, u64, Value)> {
    let kept: BTreeMap<&str, _> =
        corpus.report.repositories.iter().map(|r| (r.name.as_str(), &r.fixes)).collect();
    let closed = corpus.events().into_iter().filter(|event| {
        event["type"] == "PullRequestEvent" && event["payload"]["action"] == "closed"
    });
    closed
        .map(|event| {
            let name = event["repo"]["name"].as_str().unwrap().to_owned();
            let number = event["payload"]["number"].as_u64().unwrap();
            (name, number, event["payload"]["pull_request"].clone())
        })
        .filter(|(name, number, _)| kept[name.as_str()].contains_key(number))
        .collect()
}

#[test]
fn fixes_are_clean_merges_of_small_changes() {
    let corpus = Corpus::shared();
    let fixes = fixes(corpus);
    assert_eq!(fixes.len(), corpus.report.pull_requests);
    let mut moved = 0;
    for (name, number, pull) in &fixes {
        let folder = corpus.repository(name);
        let at = |pointer: &str| pull.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let (base, head, merge) = (at("/base/sha"), at("/head/sha"), at("/merge_commit_sha"));
        let parents = git(&folder, &["log", "-1", "--format=%P", &merge]);
        assert_eq!(parents.trim(), format!("{base} {head}"));

        let message = git(&folder, &["log", "-1", "--format=%B", &merge]);
        let (login, branch) = (at("/user/login"), at("/head/ref"));
        let want =
            format!("Merge pull request #{number} from {login}/{branch}\n\n{}", at("/title"));
        assert_eq!(message.trim_end(), want);

        let fork = git(&folder, &["merge-base", &base, &head]).trim().to_owned();
        moved += usize::from(fork != base);
        let change = git(&folder, &["diff", "--numstat", &fork, &head]);
        let fields: Vec<&str> = change.trim_end().split('\t').collect();
        let [added, deleted, path] = fields.as_slice() else { panic!("{change:?}") };
        assert!((1..=3).contains(&added.parse::<u32>().unwrap()), "{name}#{number} {change}");
        assert!(deleted.parse::<u32>().unwrap() <= 3, "{name}#{number} {change}");
        assert_eq!(pull["additions"].to_string(), *added, "{name}#{number}");
        assert_eq!(pull["deletions"].to_string(), *deleted, "{name}#{number}");

        for commit in [&fork, &head] {
            let text = git(&folder, &["show", &format!("{commit}:{path}")]);
            assert!((6..=18).contains(&text.lines().count()), "{path}:\n{text}");
            assert!(text.lines().all(|line| line.len() < 60), "{path}:\n{text}");
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
        }
        // The merge changes what the branch changed, and nothing else.
        let merged = git(&folder, &["diff", "--numstat", &base, &merge]);
        assert_eq!(merged, change, "{name}#{number}");
    }
    assert!(moved * 4 >= fixes.len(), "only {moved} merges had a main branch that moved on");
}

#[test]
fn unmerged_heads_are_kept_but_not_merged() {
    let corpus = Corpus::shared();
    let mut seen = 0;
    for event in corpus.events() {
        let pull = &event["payload"]["pull_request"];
        if event["payload"]["action"] == "closed" && pull["merged"] == false {
            let folder = corpus.repository(event["repo"]["name"].as_str().unwrap());
            let head = pull["head"]["sha"].as_str().unwrap();
            let reference = format!("refs/pull/{}/head", pull["number"]);
            assert_eq!(git(&folder, &["rev-parse", &reference]).trim(), head);
            let reached = git(&folder, &["branch", "--contains", head]);
            assert_eq!(reached, "", "{head}");
            seen += 1;
        }
    }
    assert_eq!(seen, corpus.report.noise["unmerged"]);
}
