//! `swerl view`: a golden run, damaged and hostile runs, long traces, serving, event files.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Stdio,
};

use tempfile::{TempDir, tempdir};

use crate::run::{command, fails, names, swerl};

const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\"><script>alert(1)</script><!--";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A folder with files of these names and texts.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempdir().expect("a folder can be made");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("a file can be written");
    }
    dir
}

/// The page of a run in `dir`, and what the command said about it.
fn page(dir: &Path, args: &[&str]) -> (String, String) {
    let mut all = vec!["view", ".", "--out", "page.html"];
    all.extend(args);
    let ran = swerl(dir, &all);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (fs::read_to_string(dir.join("page.html")).expect("the page is there"), ran.stderr)
}

fn prompt(step: u64, prompt: u64, text: &str) -> String {
    let record = serde_json::json!({
        "version": 1, "kind": "prompt", "step": step, "prompt": prompt, "id": "o/r#1", "text": text, "ids": [1],
        "files": [], "skipped": [],
    });
    format!("{record}\n")
}

fn completion(step: u64, prompt: u64, sample: u64, text: &str, reward: f64) -> String {
    let record = serde_json::json!({
        "version": 1, "kind": "completion", "step": step, "prompt": prompt, "sample": sample, "ids": [7, 8],
        "log_probs": [-0.5, -2.0], "raw_log_probs": [-0.5, -2.0], "text": text, "finish": "stop",
        "weights_version": step, "reward": reward,
        "score": {"reward": reward, "outcome": {"kind": "scored"}, "similarities": {"a.py": reward}, "edits": 1},
        "timings": {"prefill_s": 0.0, "decode_s": 0.0},
    });
    format!("{record}\n")
}

#[test]
fn a_finished_run_becomes_one_page() {
    let dir = tempdir().unwrap();
    let (run, seeds) = (golden().join("run"), golden().join("seeds.jsonl"));
    let run = run.to_str().unwrap();
    let args = ["view", run, "--out", "a.html", "--seeds", seeds.to_str().unwrap()];
    let ran = swerl(dir.path(), &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "a.html: 48 of 48 rollouts\n");
    assert_eq!(ran.stderr, "");
    assert_eq!(names(dir.path()), ["a.html"]);
    let page = fs::read_to_string(dir.path().join("a.html")).unwrap();
    for part in [
        "finished",
        "Held-out evaluations",
        "after less before",
        "KL to the reference",
        "null at every step: the loss has no reference",
        "Time by phase",
        "grpo/step-00000024/state.json",
        "objective.advantage.scale.std.ddof",
        "48 rollouts of the trace, 48 shown: all of them.",
        "\"borders\":[",
        "\"oracle\":[",
    ] {
        assert!(page.contains(part), "the page lacks {part:?}");
    }
    for absent in ["http://", "https://", " src=", "NaN", "url(", run] {
        assert!(!page.contains(absent), "the page has {absent:?}");
    }
    swerl(dir.path(), &["view", run, "--out", "b.html", "--seeds", seeds.to_str().unwrap()]);
    assert_eq!(page, fs::read_to_string(dir.path().join("b.html")).unwrap());
}

#[test]
fn a_crashed_run_is_shown_with_what_is_lost() {
    let torn =
        prompt(0, 0, "p") + &completion(0, 0, 0, "x", 0.5) + "{\"version\":1,\"kind\":\"compl";
    let dir = folder(&[
        ("rollouts.jsonl", &torn),
        ("grpo-metrics.jsonl", "{\"step\":1,\"loss\":0.25}\n{\"step\":2,\"lo"),
    ]);
    let (page, said) = page(dir.path(), &[]);
    for note in ["rollouts.jsonl:3", "grpo-metrics.jsonl:2"] {
        assert!(said.contains(&format!("note: {note}: the last line is torn")), "{said}");
        assert!(page.contains(&format!("<li>{note}: the last line is torn")));
    }
    assert!(page.contains("running or stopped"));
    assert!(page.contains("1 rollouts of the trace, 1 shown"));
    assert!(page.contains("step 1 \u{b7} loss 0.25"));
}

#[test]
fn a_run_that_has_just_begun_has_a_page() {
    let dir = folder(&[("grpo-metrics.jsonl", ""), ("rollouts.jsonl", "")]);
    let (page, said) = page(dir.path(), &[]);
    assert!(page.contains("No rollout yet."));
    assert_eq!(said, "");
}

#[test]
fn texts_of_the_model_are_no_markup() {
    let trace = prompt(0, 0, HOSTILE)
        .replace("o/r#1", "HOSTILE")
        .replace("HOSTILE", &HOSTILE.replace('"', "\\\""))
        + &completion(0, 0, 0, HOSTILE, 0.5);
    let metrics =
        serde_json::json!({"step": 1, HOSTILE: 2.0, "rollouts": {"outcomes": {HOSTILE: 1}}});
    let dir = folder(&[
        ("rollouts.jsonl", &trace),
        ("grpo-metrics.jsonl", &format!("{metrics}\n")),
        ("config.toml", HOSTILE),
        ("summary.json", &serde_json::json!({HOSTILE: HOSTILE}).to_string()),
        (
            "evaluation-<img src=x>.json",
            r#"{"results":[{"id":"<img>","reward":1,"valid":true,"exact":true}]}"#,
        ),
    ]);
    let (page, _) = page(dir.path(), &[]);
    assert!(!page.contains("<img") && !page.contains("<!--"), "markup came through");
    // The page's own script, one group, the rows.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script>").count(), 3);
    assert!(page.contains("\\u003c/script\\u003e\\u003cimg src=x onerror=\\\"alert(1)"));
    assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"));
}

#[test]
fn a_long_trace_is_sampled_and_said() {
    let mut trace = String::new();
    for step in 0..10 {
        for number in 0..4 {
            trace += &prompt(step, number, "p");
            for sample in 0..2 {
                let reward = if number == 2 { 0.9 } else { 0.1 * number as f64 };
                trace += &completion(step, number, sample, "x", reward);
            }
        }
    }
    let dir = folder(&[("rollouts.jsonl", &trace)]);
    let (whole, said) = page(dir.path(), &[]);
    assert!(whole.contains("80 rollouts of the trace, 80 shown: all of them."));
    assert_eq!(said, "");
    let (few, said) = page(dir.path(), &["--limit-rollouts", "20"]);
    assert!(few.contains("80 rollouts of the trace, 20 shown; 60 are left out"));
    assert_eq!(
        said,
        "note: rollouts.jsonl: 20 of 80 rollouts are shown; --limit-rollouts N shows more\n"
    );
    // One group of each step: the one with the highest reward.
    assert_eq!(few.matches("\"prompt\":2,\"id\"").count(), 10);
    let (one, _) = page(dir.path(), &["--step", "3"]);
    assert!(one.contains("8 rollouts of step 3, 8 shown: all of them."));
    let ran = swerl(dir.path(), &["view", ".", "--step", "12"]);
    fails(&ran, 1, &["no rollout of step 12", "the trace has steps 0 to 9"]);
    assert_eq!(names(dir.path()), ["page.html", "rollouts.jsonl"]);
}

#[test]
fn a_resumed_step_counts_once() {
    let again = prompt(0, 0, "old") + &completion(0, 0, 0, "x", 0.5) + &prompt(0, 0, "new");
    let dir = folder(&[("rollouts.jsonl", &(again + &completion(0, 0, 0, "y", 0.75)))]);
    let (page, said) = page(dir.path(), &[]);
    assert!(page.contains("1 rollouts of the trace") && page.contains("\"text\":\"new\""));
    assert!(said.contains("1 prompts come again"), "{said}");
}

#[test]
fn wrong_use_is_one_line() {
    let dir = folder(&[("notes.txt", "")]);
    fails(&swerl(dir.path(), &["view", "absent"]), 1, &["absent", "no such folder"]);
    fails(&swerl(dir.path(), &["view", "."]), 1, &["no run", "rollouts.jsonl"]);
    assert_eq!(names(dir.path()), ["notes.txt"]);
    let newer =
        folder(&[("rollouts.jsonl", "{\"version\":2,\"kind\":\"prompt\",\"text\":\"x\"}\n")]);
    fails(&swerl(newer.path(), &["view", "."]), 1, &["rollouts.jsonl:1", "version 2", "version 1"]);
    let run = folder(&[
        ("rollouts.jsonl", &prompt(0, 0, "p")),
        ("bad.json", "{}"),
        ("seeds.jsonl", "{\"id\": 3}\n"),
    ]);
    fails(
        &swerl(run.path(), &["view", ".", "--tokenizer", "bad.json"]),
        1,
        &["bad.json", "model.vocab"],
    );
    fails(
        &swerl(run.path(), &["view", ".", "--seeds", "seeds.jsonl"]),
        1,
        &["seeds.jsonl:1", "not a seed"],
    );
    fails(
        &swerl(run.path(), &["view", ".", "--out", "no/such/x.html"]),
        1,
        &["--out FILE", "x.html"],
    );
    let usage = swerl(run.path(), &["view", ".", "--out", "x.html", "--serve"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    assert_eq!(names(run.path()), ["bad.json", "rollouts.jsonl", "seeds.jsonl"]);
}

#[test]
fn the_served_page_follows_the_run() {
    let dir = folder(&[("rollouts.jsonl", &prompt(0, 0, "p"))]);
    let mut child = command(dir.path(), &["view", ".", "--serve", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let get = |path: &str, host: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let first = get("/", &address);
    let news = prompt(0, 0, "p") + &completion(0, 0, 0, "x", 0.5);
    fs::write(dir.path().join("rollouts.jsonl"), news).unwrap();
    let second = get("/", &address);
    let (missing, foreign) = (get("/etc/passwd", &address), get("/", "evil.example"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        first.starts_with("HTTP/1.1 200 OK\r\n") && first.contains("No rollout yet."),
        "{first}"
    );
    assert!(second.contains("1 rollouts of the trace, 1 shown"));
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    assert_eq!(names(dir.path()), ["rollouts.jsonl"]);
}

#[test]
fn event_files_are_replaced_and_whole() {
    let dir = tempdir().unwrap();
    let run = golden().join("run");
    for _ in 0..2 {
        let ran = swerl(dir.path(), &["view", run.to_str().unwrap(), "--tensorboard", "events"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with("events: "), "{}", ran.stdout);
    }
    assert_eq!(names(&dir.path().join("events")), ["evaluation", "grpo", "sft"]);
    assert_eq!(names(&dir.path().join("events/grpo")), ["events.out.tfevents.0.swerl"]);
    let bytes = fs::read(dir.path().join("events/grpo/events.out.tfevents.0.swerl")).unwrap();
    // Frames follow each other to the last byte.
    let (mut at, mut records, mut tags) = (0, 0, String::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let message = &bytes[at + 12..at + 12 + usize::try_from(length).unwrap()];
        let _ = write!(tags, "{}", String::from_utf8_lossy(message));
        at += 16 + message.len();
        records += 1;
    }
    assert_eq!(at, bytes.len());
    assert!(records > 24 * 30, "{records}");
    for part in ["brain.Event:2", "train/reward_mean", "times/collect", "rollouts/exact"] {
        assert!(tags.contains(part), "no {part}");
    }
}
