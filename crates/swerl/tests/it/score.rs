//! `swerl score`: rows in, scores out.

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::run::{Ran, command, fails, names, swerl};

/// An answer that replaces `search` by `replace` in `path`.
fn answer(path: &str, search: &str, replace: &str) -> String {
    let edit = swerl::reward::Edit {
        path: path.to_owned(),
        search: search.to_owned(),
        replace: replace.to_owned(),
    };
    swerl::reward::render_answer("Because.", &[edit])
}

fn row(output: &str) -> Value {
    json!({"id": "a", "context": {"a.py": "x = 1\n"}, "oracle": {"a.py": "x = 2\n"}, "output": output})
}

fn write(dir: &Path, name: &str, rows: &[Value]) {
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(dir.join(name), lines).expect("the rows can be written");
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a score is JSON")).collect()
}

#[track_caller]
fn check(output: &str, reward: f64, kind: &str) {
    let dir = tempdir().expect("a temporary folder can be made");
    write(dir.path(), "rows.jsonl", &[row(output)]);
    let ran = swerl(dir.path(), &["score", "rows.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let [score] = &rows(&ran.stdout)[..] else { panic!("one row: {ran:?}") };
    assert_eq!(score["id"], "a");
    assert_eq!(score["reward"], reward);
    assert_eq!(score["outcome"]["kind"], kind);
    assert!(score["reason"].is_string());
}

#[test]
fn outcomes() {
    check(&answer("a.py", "x = 1", "x = 2"), 1.0, "scored");
    check("no tags", -1.0, "tags");
    check(&answer("a.py", "y = 1", "y = 2"), -1.0, "search_not_found");
    check(&answer("a.py", "x = 1", "x = 1"), -1.0, "search_equals_replace");
    check("<think> </think><solution></solution>", -1.0, "empty_thought");
    check("<think>.</think><solution></solution>", -1.0, "no_edits");
}

#[test]
fn order_ids_and_summary() {
    let dir = tempdir().unwrap();
    let mut all = Vec::new();
    for index in 0..2_000 {
        let exact = index % 2 == 0;
        let output = answer("a.py", "x = 1", if exact { "x = 2" } else { "x = 1" });
        let mut row = row(&output);
        row["id"] = json!(index);
        all.push(row);
    }
    write(dir.path(), "rows.jsonl", &all);
    let ran = swerl(dir.path(), &["score", "rows.jsonl", "--out", "scores.jsonl", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        summary,
        json!({"rows": 2000, "unreadable_rows": 0, "reward_mean": 0.0, "format_valid": 0.5,
            "exact": 0.5, "valid_similarity": 1.0})
    );
    let scores = rows(&fs::read_to_string(dir.path().join("scores.jsonl")).unwrap());
    assert_eq!(scores.len(), 2_000);
    for (index, score) in scores.iter().enumerate() {
        assert_eq!(score["id"], index);
        assert_eq!(score["reward"], if index % 2 == 0 { 1.0 } else { -1.0 });
    }
    assert_eq!(names(dir.path()), ["rows.jsonl", "scores.jsonl"]);
}

#[test]
fn bad_rows_are_reported_and_the_rest_goes_on() {
    let dir = tempdir().unwrap();
    let good = row("nothing").to_string();
    let text = format!("{good}\n{{\n\n{{\"output\": \"x\"}}\n{good}\n");
    fs::write(dir.path().join("rows.jsonl"), &text).unwrap();
    let ran = swerl(dir.path(), &["score", "rows.jsonl"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(rows(&ran.stdout).len(), 2);
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors[0].starts_with("error: rows.jsonl:2: not a row"), "{errors:?}");
    assert!(errors[1].starts_with("error: rows.jsonl:4: a row needs"), "{errors:?}");
    assert_eq!(errors[2], "error: rows.jsonl: 2 of 4 rows could not be read");

    let ran = swerl(dir.path(), &["score", "rows.jsonl", "--strict", "--out", "scores.jsonl"]);
    fails(&ran, 1, &["rows.jsonl:2: not a row"]);
    assert_eq!(names(dir.path()), ["rows.jsonl"]);
}

#[test]
fn rows_by_seed() {
    let dir = tempdir().unwrap();
    let commit = "0123456789012345678901234567890123456789";
    let seed = json!({
        "version": 1, "id": "o/r#7", "repo": "o/r", "pull_request": 7, "base_commit": commit,
        "head_commit": commit, "merge_commit": null, "merged_at": null, "title": "t", "body": "",
        "issue": {"number": 3, "title": "x is 1", "body": "", "url": null, "source": "linked_issue"},
        "files": [{"path": "a.py", "role": "edit", "text": "x = 1\n"}],
        "oracle": {"a.py": "x = 2\n"},
    });
    write(dir.path(), "seeds.jsonl", &[seed]);
    let output = answer("a.py", "x = 1", "x = 2");
    write(dir.path(), "rows.jsonl", &[json!({"seed": "o/r#7", "output": output})]);
    let ran = swerl(dir.path(), &["score", "--seeds", "seeds.jsonl", "rows.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(rows(&ran.stdout)[0]["id"], "o/r#7");
    assert_eq!(rows(&ran.stdout)[0]["reward"], 1.0);

    write(dir.path(), "rows.jsonl", &[json!({"seed": "o/r#8", "output": ""})]);
    let ran = swerl(dir.path(), &["score", "--seeds", "seeds.jsonl", "rows.jsonl", "--strict"]);
    fails(&ran, 1, &["rows.jsonl:1", "no seed is called \"o/r#8\""]);
}

#[test]
fn bad_files_are_one_line() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("empty.jsonl"), "").unwrap();
    write(dir.path(), "rows.jsonl", &[row("")]);
    let run = |args: &[&str]| swerl(dir.path(), &[&["score"], args].concat());
    fails(&run(&["missing.jsonl"]), 1, &["missing.jsonl", "No such file"]);
    fails(&run(&["empty.jsonl"]), 1, &["empty.jsonl: no rows"]);
    fails(&run(&["."]), 1, &["cannot read .", "directory"]);
    fails(&run(&["--seeds", "empty.jsonl", "rows.jsonl"]), 1, &["empty.jsonl", "no seeds"]);
    fails(&run(&["rows.jsonl", "--out", "no/such/dir.jsonl"]), 1, &["no/such/dir.jsonl"]);
    assert_eq!(names(dir.path()), ["empty.jsonl", "rows.jsonl"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let dir = tempdir().unwrap();
    let many: Vec<Value> = (0..3_000).map(|_| row("nothing")).collect();
    write(dir.path(), "rows.jsonl", &many);
    let mut child = command(dir.path(), &["score", "rows.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
}

#[test]
fn other_kinds_of_rows() {
    let dir = tempdir().unwrap();
    let patch = |line: &str| format!("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+{line}\n");
    let all = [
        json!({"id": "u", "kind": "unidiff", "oracle_patches": [patch("TWO")],
            "pred_patches": [patch("TWO")]}),
        json!({"id": "broken", "kind": "unidiff", "oracle_patches": [patch("TWO")],
            "pred_patches": ["no diff"]}),
        json!({"id": "g", "kind": "general", "context": {"a": "x\n"}, "oracle": {"a": "diet\n"},
            "prediction": {"a": "tide\n"}}),
        json!({"id": "s", "kind": "search_replace", "context": {"a": "x\n"},
            "oracle": {"a": "y\n"}, "output": answer("a", "x", "y")}),
        json!({"id": "lacking", "kind": "general", "context": {"a": "x\n"}, "oracle": {}}),
        json!({"id": "unknown", "kind": "poem"}),
    ];
    write(dir.path(), "rows.jsonl", &all);
    let ran = swerl(dir.path(), &["score", "rows.jsonl"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let found: Vec<(Value, Value)> = rows(&ran.stdout)
        .into_iter()
        .map(|mut row| (row["id"].take(), row["reward"].take()))
        .collect();
    let expected = [("u", 1.0), ("broken", 0.0), ("g", 0.85), ("s", 1.0)];
    assert_eq!(found, expected.map(|(id, reward)| (json!(id), json!(reward))));
    assert!(ran.stderr.contains("rows.jsonl:5: a row needs `prediction`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("rows.jsonl:6: not a row to score"), "{}", ran.stderr);
}

#[test]
fn text_that_is_not_unicode_is_scored() {
    let dir = tempdir().unwrap();
    let good = row(&answer("a.py", "x = 1", "x = 2")).to_string();
    let surrogate = row(&answer("a.py", "x = 1", "x = SURROGATE")).to_string();
    let mut text = b"\xef\xbb\xbf".to_vec(); // a byte order mark
    text.extend(format!("{good}\r\n{}\n", surrogate.replace("SURROGATE", "\\ud83d")).into_bytes());
    text.extend(row("cut").to_string().replace("cut", "\u{e9}").into_bytes());
    let cut = text.iter().rposition(|&byte| byte == 0xa9).unwrap();
    text.remove(cut);
    fs::write(dir.path().join("rows.jsonl"), text).unwrap();
    let ran = swerl(dir.path(), &["score", "rows.jsonl", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rewards: Vec<Value> = rows(&ran.stdout).iter().map(|row| row["reward"].clone()).collect();
    // One of the 25 characters of "@@ -1 +1 @@", "-x = 1", "+x = 2" differs.
    assert_eq!(rewards, [json!(1.0), json!(48.0 / 50.0), json!(-1.0)]);
}

#[test]
fn ids_and_rows_of_other_types() {
    let dir = tempdir().unwrap();
    let with_id = |id: Value| {
        let mut row = row("nothing");
        row["id"] = id;
        row
    };
    let ids = [json!(-7), json!(0.5), json!("b"), json!(null), json!(18446744073709551615u64)];
    write(dir.path(), "rows.jsonl", &ids.clone().map(with_id));
    let ran = swerl(dir.path(), &["score", "rows.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found: Vec<Value> = rows(&ran.stdout).iter().map(|row| row["id"].clone()).collect();
    assert_eq!(found, [&ids[..3], &[json!(4)], &ids[4..]].concat());

    let nested = format!("{{\"output\": {}", "[".repeat(100_000));
    for (line, says) in [
        (with_id(json!([1])).to_string(), "`id` must be a string or a number"),
        // A double would make these two ids one.
        (with_id(json!(7)).to_string().replace('7', "123456789012345678901234567890"), "strings"),
        (with_id(json!(7)).to_string().replace('7', "-9223372036854775809"), "strings) at column"),
        (json!(["a", null]).to_string(), "a row is one JSON object on a line, in UTF-8"),
        (nested, "expected a string"),
    ] {
        fs::write(dir.path().join("rows.jsonl"), line).unwrap();
        fails(&swerl(dir.path(), &["score", "rows.jsonl", "--strict"]), 1, &["jsonl:1: ", says]);
    }
}

#[test]
fn outputs_do_no_harm() {
    let dir = tempdir().unwrap();
    let text = row("nothing").to_string();
    fs::write(dir.path().join("rows.jsonl"), &text).unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    let run = |out: &str| swerl(dir.path(), &["score", "rows.jsonl", "--out", out]);
    fails(&run("./rows.jsonl"), 1, &["rows.jsonl: --out would overwrite what is read"]);
    fails(&run("folder"), 1, &["cannot write folder: is a folder"]);
    assert_eq!(fs::read_to_string(dir.path().join("rows.jsonl")).unwrap(), text);
    assert_eq!(names(dir.path()), ["folder", "rows.jsonl"]);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_stay_what_they_are() {
    let dir = tempdir().unwrap();
    write(dir.path(), "rows.jsonl", &[row("nothing")]);
    fs::write(dir.path().join("real.jsonl"), "").unwrap();
    std::os::unix::fs::symlink("real.jsonl", dir.path().join("link.jsonl")).unwrap();
    let ran = swerl(dir.path(), &["score", "rows.jsonl", "--out", "link.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(dir.path().join("link.jsonl").is_symlink());
    assert_eq!(rows(&fs::read_to_string(dir.path().join("real.jsonl")).unwrap()).len(), 1);

    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    let ran = swerl(dir.path(), &["score", "rows.jsonl", "--out", "pipe"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(rows(&reader.join().unwrap()).len(), 1);
    assert_eq!(names(dir.path()), ["link.jsonl", "pipe", "real.jsonl", "rows.jsonl"]);
}

#[test]
fn readers_of_errors_and_summaries_may_leave() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("rows.jsonl"), "{\n".repeat(3_000)).unwrap();
    write(dir.path(), "good.jsonl", &[row("nothing")]);
    for (args, code) in [
        (&["score", "rows.jsonl"][..], Some(1)),
        (&["score", "good.jsonl", "--out", "scores.jsonl"], Some(0)),
    ] {
        let mut child = command(dir.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), code, "{args:?}");
    }
}

#[test]
fn gzip_is_read_as_what_it_holds() {
    use std::io::Write;

    let dir = tempdir().unwrap();
    let right = answer("a.py", "x = 1", "x = 2");
    write(dir.path(), "rows.jsonl", &[row(&right), row("no answer")]);
    let text = fs::read(dir.path().join("rows.jsonl")).unwrap();
    // Two members, as rotated parts laid end to end.
    let mut packed = Vec::new();
    for half in [&text[..100], &text[100..]] {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
        encoder.write_all(half).unwrap();
        encoder.finish().unwrap();
    }
    fs::write(dir.path().join("rows.jsonl.gz"), &packed).unwrap();
    let plain = swerl(dir.path(), &["score", "rows.jsonl"]);
    let gzip = swerl(dir.path(), &["score", "rows.jsonl.gz"]);
    assert_eq!((gzip.code, &gzip.stdout), (Some(0), &plain.stdout), "{gzip:?}");

    fs::write(dir.path().join("cut.gz"), &packed[..packed.len() - 9]).unwrap();
    let ran = swerl(dir.path(), &["score", "cut.gz"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    assert!(ran.stderr.contains("cannot read cut.gz"), "{}", ran.stderr);
}

#[test]
fn no_rows_replace_nothing() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("empty.jsonl"), "\n").unwrap();
    fs::write(dir.path().join("scores.jsonl"), "those of before\n").unwrap();
    let args = ["score", "empty.jsonl", "--out", "scores.jsonl"];
    fails(&swerl(dir.path(), &args), 1, &["empty.jsonl: no rows"]);
    assert_eq!(fs::read_to_string(dir.path().join("scores.jsonl")).unwrap(), "those of before\n");
    assert_eq!(names(dir.path()), ["empty.jsonl", "scores.jsonl"]);
}

/// Whoever waits for an answer before it writes on gets it, whatever the pipe is called.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_answered_line_by_line() {
    use std::io::{BufRead, BufReader, Write};

    let dir = tempdir().unwrap();
    for name in ["-", "/dev/stdin"] {
        let mut child = command(dir.path(), &["score", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut rows = child.stdin.take().unwrap();
        let mut scores = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..3 {
            writeln!(rows, "{}", row("nothing")).unwrap();
            assert!(scores.next().unwrap().unwrap().contains("tags"), "{name}");
        }
        drop(rows);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
    }
}

/// Ctrl-C ends the command also while nobody reads its errors.
#[cfg(unix)]
#[test]
fn an_interrupt_needs_no_reader() {
    use std::io::Read;

    let dir = tempdir().unwrap();
    // More messages than a pipe holds.
    fs::write(dir.path().join("rows.jsonl"), "{\n".repeat(30_000)).unwrap();
    let mut child = command(dir.path(), &["score", "rows.jsonl", "--out", "scores.jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It is at work from the first message on, and soon waits for a reader.
    let mut errors = child.stderr.take().unwrap();
    errors.read_exact(&mut [0; 1]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(dir.path()), ["rows.jsonl"]);
    drop(errors);
}
