//! The first two fixes of the shared corpus, with their issues, events and patches, as committed.
//!
//! A change of the generator changes them: the failing test writes what is made now beside the build
//! and names the file. Read the difference, then copy it to `tests/golden`.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Corpus, git};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Events (pretty JSON, a list) and patches of the first two fixes of the first repository.
fn first_fixes() -> (String, String) {
    let corpus = Corpus::shared();
    let repository = &corpus.report.repositories[0];
    let numbers: Vec<u64> = repository.fixes.keys().take(2).copied().collect();
    let mut events: Vec<Value> = Vec::new();
    let mut patches = String::new();
    let all = corpus.events();
    for number in numbers {
        let pulls: Vec<&Value> = all
            .iter()
            .filter(|event| {
                event["type"] == "PullRequestEvent"
                    && event["repo"]["name"] == repository.name.as_str()
                    && event["payload"]["number"] == number
            })
            .collect();
        let pull = &pulls[1]["payload"]["pull_request"];
        let issue: u64 =
            pull["body"].as_str().unwrap().rsplit_once('#').unwrap().1.parse().unwrap();
        let issues = all.iter().filter(|event| {
            event["repo"]["name"] == repository.name.as_str()
                && event["payload"]["issue"]["number"] == issue
        });
        events.extend(issues.chain(pulls.iter().copied()).cloned());
        let commit = |side: &str| pull[side]["sha"].as_str().unwrap().to_owned();
        let range = format!("{}...{}", commit("base"), commit("head"));
        patches += &git(&corpus.repository(&repository.name), &["diff", "--no-ext-diff", &range]);
    }
    (format!("{:#}\n", Value::from(events)), patches)
}

#[test]
fn first_fixes_are_as_committed() {
    let (events, patches) = first_fixes();
    for (name, made) in [("first_fixes.json", events), ("first_fixes.patch", patches)] {
        let committed = std::fs::read_to_string(folder().join(name)).unwrap();
        if made != committed {
            let aside = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::write(&aside, made).unwrap();
            panic!("{name} differs from what is made now, {}", aside.display());
        }
    }
}
