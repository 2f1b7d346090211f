//! Precision and recall of every filter on a table of labelled cases.
//!
//! `tests/golden/filters.jsonl` was written by hand, with cases that the rules get wrong: a label
//! is what a person would say. A case's fields stand for a plain fix where they are missing.
//! Precision of a rule: the share of its drops that are labelled so. Recall: the share of cases
//! labelled so that it drops.

use std::collections::BTreeMap;

use serde::Deserialize;
use swerl_data::DropReason;
use swerl_data::FilterOptions;
use swerl_data::filter::bug::reports_bug;
use swerl_data::filter::decontaminate::judge_place;
use swerl_data::filter::hunk::ChangedFile;
use swerl_data::filter::verdict::{Words, judge_paths, judge_texts, judge_words};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    case: String,
    drop: Option<DropReason>,
    #[serde(default)]
    author: String,
    #[serde(default)]
    bot: bool,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    issue: Option<Issue>,
    files: Option<Vec<(String, String, String)>>,
    repo: Option<String>,
    number: Option<u64>,
    merged: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Issue {
    title: String,
    body: String,
    labels: Vec<String>,
}

fn judge(case: &Case, options: &FilterOptions) -> Option<DropReason> {
    let merged = case.merged.as_deref().unwrap_or("2020-01-01T00:00:00Z").parse().unwrap();
    let repo = case.repo.as_deref().unwrap_or("acme/tool");
    let place = judge_place(repo, case.number.unwrap_or(1), Some(merged), options);
    let title = if case.title.is_empty() { "Fix the total" } else { &case.title };
    let (author, author_is_bot) = (case.author.as_str(), case.bot);
    let words = judge_words(&Words { author, author_is_bot, title, body: &case.body });
    let bug = case.issue.as_ref().is_none_or(|i| reports_bug(&i.title, &i.body, &i.labels));
    let plain = vec![("src/a.py".to_owned(), "x = 1\n".to_owned(), "x = 2\n".to_owned())];
    let files = case.files.as_ref().unwrap_or(&plain);
    let paths: Vec<&str> = files.iter().map(|(path, ..)| path.as_str()).collect();
    let texts: Vec<ChangedFile<'_>> =
        files.iter().map(|(path, old, new)| ChangedFile { path, old, new }).collect();
    place
        .or(words)
        .or((!bug).then_some(DropReason::NotABug))
        .or_else(|| judge_paths(&paths, options))
        .or_else(|| judge_texts(&texts, options))
}

#[derive(Default)]
struct Tally {
    labelled: u32,
    dropped: u32,
    right: u32,
}

impl Tally {
    fn precision(&self) -> f64 {
        f64::from(self.right) / f64::from(self.dropped.max(1))
    }

    fn recall(&self) -> f64 {
        f64::from(self.right) / f64::from(self.labelled.max(1))
    }
}

#[test]
fn precision_and_recall_by_rule() {
    let text = include_str!("../golden/filters.jsonl");
    let cases: Vec<Case> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let options = FilterOptions {
        excluded_instances: ["acme__bench-12".to_owned()].into(),
        merged_before: Some("2024-09-01T00:00:00Z".parse().unwrap()),
        ..FilterOptions::default()
    };
    let mut tallies: BTreeMap<DropReason, Tally> = BTreeMap::new();
    let mut wrongly_dropped = 0;
    let mut mistakes = Vec::new();
    for case in &cases {
        let found = judge(case, &options);
        if let Some(reason) = case.drop {
            tallies.entry(reason).or_default().labelled += 1;
        }
        if let Some(reason) = found {
            let tally = tallies.entry(reason).or_default();
            tally.dropped += 1;
            tally.right += u32::from(case.drop == Some(reason));
        }
        wrongly_dropped += u32::from(case.drop.is_none() && found.is_some());
        if found != case.drop {
            let name = |reason: Option<DropReason>| reason.map_or("kept", DropReason::name);
            mistakes.push(format!("{}: {}, not {}", case.case, name(found), name(case.drop)));
        }
    }
    println!("{:<22} {:>5} {:>7} {:>9} {:>6}", "rule", "cases", "dropped", "precision", "recall");
    for (reason, tally) in &tallies {
        let (precision, recall) = (tally.precision(), tally.recall());
        println!(
            "{:<22} {:>5} {:>7} {precision:>9.2} {recall:>6.2}",
            reason.name(),
            tally.labelled,
            tally.dropped
        );
        assert!(tally.labelled > 0, "{reason}: dropped, but no case is labelled so");
        // Recall first is the design: a rule drops little that it should not.
        assert!(precision >= 0.85, "{reason}: precision {precision:.2}\n{}", mistakes.join("\n"));
        assert!(recall >= 0.6, "{reason}: recall {recall:.2}\n{}", mistakes.join("\n"));
    }
    println!("{} cases, {} mistakes:\n{}", cases.len(), mistakes.len(), mistakes.join("\n"));
    let kept = cases.iter().filter(|case| case.drop.is_none()).count();
    let lost = f64::from(wrongly_dropped) / kept as f64;
    assert!(lost <= 0.06, "{wrongly_dropped} of {kept} fixes are dropped\n{}", mistakes.join("\n"));
    assert!(mistakes.len() * 10 <= cases.len(), "{}", mistakes.join("\n"));
}
