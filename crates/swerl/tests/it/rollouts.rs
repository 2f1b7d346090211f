//! `swerl rollouts`: traces in, tables and texts out.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::run::{Ran, fails, swerl};

fn prompt(step: u64, prompt: u64) -> Value {
    json!({"version": 1, "kind": "prompt", "step": step, "prompt": prompt, "id": format!("o/r#{prompt}"),
        "text": "an issue", "ids": [1, 2], "files": ["a.py"], "skipped": []})
}

/// A completion with this reward; without one it was not judged.
fn completion(step: u64, prompt: u64, sample: u64, reward: Option<f64>) -> Value {
    let valid = reward.is_some_and(|reward| reward >= 0.0);
    let similarities = if valid { json!({"a.py": reward}) } else { json!({}) };
    let outcome = if valid { json!({"kind": "scored"}) } else { json!({"kind": "empty_thought"}) };
    json!({"version": 1, "kind": "completion", "step": step, "prompt": prompt, "sample": sample,
        "ids": [5, 6], "log_probs": [-0.5, -1.0], "raw_log_probs": [-0.5, -1.0],
        "text": format!("line\nsample {sample}\u{1b}[31m\n"),
        "finish": if sample == 1 { "length" } else { "stop" }, "weights_version": step,
        "reward": reward, "timings": {"prefill_s": 0.0, "decode_s": 0.0},
        "score": {"reward": reward.unwrap_or(-1.0), "outcome": outcome,
            "similarities": similarities, "edits": 1}})
}

/// Two steps: rewards 1, -1, none; then 0.5 twice.
fn records() -> Vec<Value> {
    vec![
        prompt(0, 0),
        completion(0, 0, 0, Some(1.0)),
        completion(0, 0, 1, Some(-1.0)),
        completion(0, 0, 2, None),
        prompt(1, 0),
        completion(1, 0, 0, Some(0.5)),
        completion(1, 0, 1, Some(0.5)),
    ]
}

fn text(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn write(dir: &Path, name: &str, records: &[Value]) {
    fs::write(dir.join(name), text(records)).expect("the trace can be written");
}

fn run(dir: &Path, args: &[&str]) -> String {
    let args: Vec<&str> = std::iter::once("rollouts").chain(args.iter().copied()).collect();
    let ran = swerl(dir, &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn figures_of_each_step_and_of_all() {
    let dir = tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", &records());
    let lines: Vec<Value> = run(dir.path(), &["stats", "t.jsonl", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [first, second, all] = &lines[..] else { panic!("three lines: {lines:?}") };
    assert_eq!(
        (&first["completions"], &first["unjudged"], &first["reward_mean"]),
        (&json!(3), &json!(1), &json!(0.0))
    );
    assert_eq!((&first["reward_std"], &first["equal_reward_groups"]), (&json!(1.0), &json!(0.0)));
    assert_eq!((&first["exact"], &first["truncated"]), (&json!(0.5), &json!(0.5)));
    assert_eq!((&second["reward_std"], &second["equal_reward_groups"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(
        (&all["step"], &all["prompts"], &all["tokens"]),
        (&Value::Null, &json!(2), &json!(10))
    );
    assert_eq!(all["log_prob_per_token"], json!(-0.75));
    assert_eq!(all["outcomes"], json!({"empty_thought": 1, "scored": 3}));
    let table = run(dir.path(), &["stats", "t.jsonl"]);
    assert_eq!(table.lines().count(), 5);
    assert!(table.contains("outcomes: empty_thought 1, scored 3"), "{table}");
}

#[test]
fn completions_are_chosen_and_do_nothing_to_the_terminal() {
    let dir = tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", &records());
    let shown = |args: &[&str]| {
        let args: Vec<&str> = ["show", "t.jsonl"].iter().chain(args).copied().collect();
        run(dir.path(), &args)
    };
    let count = |args: &[&str]| shown(args).matches("=== step").count();
    assert_eq!(count(&[]), 5);
    assert_eq!(count(&["--step", "1"]), 2);
    assert_eq!(count(&["--sample", "1", "--step", "0"]), 1);
    assert_eq!(count(&["--at-least", "0.9"]), 1);
    assert_eq!(count(&["--at-most", "-1"]), 1);
    assert_eq!(count(&["--outcome", "scored", "--limit", "2"]), 2);
    assert_eq!(count(&["--id", "o/r#0"]), 5);
    let one = shown(&["--at-least", "0.9", "--with-prompt", "--tokens"]);
    for part in ["an issue", "step 0, prompt 0 (o/r#0), sample 0: reward 1.0000", "-0.5000"] {
        assert!(one.contains(part), "{one}");
    }
    assert!(!one.contains('\u{1b}') && one.contains("\\u{1b}[31m"), "{one}");
    let none = swerl(dir.path(), &["rollouts", "show", "t.jsonl", "--step", "9"]);
    fails(&none, 1, &["t.jsonl", "no such completion"]);
}

#[test]
fn the_best_is_held_against_the_worst_and_a_run_against_its_replay() {
    let dir = tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", &records());
    let diff = run(dir.path(), &["diff", "t.jsonl"]);
    for part in
        ["- sample 0: reward 1.0000", "+ sample 1: reward -1.0000", "-sample 0", "+sample 1"]
    {
        assert!(diff.contains(part), "{diff}");
    }
    let named = run(dir.path(), &["diff", "t.jsonl", "--step", "0", "--samples", "1,2"]);
    assert!(named.contains("-sample 1") && named.contains("+sample 2"), "{named}");
    write(dir.path(), "same.jsonl", &records());
    let same = run(dir.path(), &["diff", "t.jsonl", "--against", "same.jsonl"]);
    assert!(same.starts_with("5 equal, 0 with other tokens, 0 with another reward"), "{same}");
    let mut other = records();
    other[1]["ids"][1] = json!(7);
    other[2]["reward"] = json!(0.25);
    other[5]["log_probs"][0] = json!(-0.75);
    write(dir.path(), "other.jsonl", &other);
    let other = run(dir.path(), &["diff", "t.jsonl", "--against", "other.jsonl"]);
    assert!(other.contains("sample 0: tokens differ from number 1 on"), "{other}");
    assert!(other.contains("reward -1.0000 and 0.2500"), "{other}");
    assert!(other.contains("2 equal, 1 with other tokens, 1 with another reward"), "{other}");
    assert!(other.contains("2.5e-1"), "{other}");
    write(dir.path(), "short.jsonl", &records()[..4]);
    let short = swerl(dir.path(), &["rollouts", "diff", "t.jsonl", "--against", "short.jsonl"]);
    fails(&short, 1, &["t.jsonl has more completions"]);
}

#[test]
fn parts_are_read_in_order() {
    let dir = tempdir().expect("a folder");
    let part = fs::File::create(dir.path().join("t.0001.jsonl.gz")).expect("a part");
    let mut part = flate2::write::GzEncoder::new(part, flate2::Compression::fast());
    part.write_all(text(&records()[..4]).as_bytes()).expect("writes");
    part.finish().expect("ends");
    write(dir.path(), "t.jsonl", &records()[4..]);
    write(dir.path(), "t2.0001.jsonl", &records());
    let stats = run(dir.path(), &["stats", "t.jsonl", "--json"]);
    assert_eq!(stats.lines().count(), 3);
    assert_eq!(run(dir.path(), &["stats", "t.0001.jsonl.gz", "--json"]).lines().count(), 2);
}

#[track_caller]
fn refused(contents: &str, parts: &[&str]) {
    let dir = tempdir().expect("a folder");
    fs::write(dir.path().join("t.jsonl"), contents).expect("writes");
    let ran: Ran = swerl(dir.path(), &["rollouts", "stats", "t.jsonl"]);
    fails(&ran, 1, parts);
}

#[test]
fn bad_traces_are_named_with_their_line() {
    let good = text(&records()[..1]);
    refused(&format!("{good}nonsense\n"), &["t.jsonl, line 2", "not a trace record"]);
    refused(&format!("{good}{{\"version\":2}}\n"), &["line 2", "version 2, this program reads 1"]);
    refused(&format!("{good}{{\"version\":1,\"ki"), &["line 2", "cut"]);
    refused("", &["no completions"]);
    let dir = tempdir().expect("a folder");
    let ran = swerl(dir.path(), &["rollouts", "stats", "absent.jsonl"]);
    fails(&ran, 1, &["cannot read absent.jsonl"]);
}
