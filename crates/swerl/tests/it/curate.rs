//! `swerl curate`: seeds from a repository, and what happens when there are none to be had.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::tempdir;

use crate::run::{fails, names, swerl};

fn git(dir: &Path, args: &[&str]) {
    let status = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2020-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2020-01-02T03:04:05Z")
        .output()
        .expect("git is installed");
    assert!(status.status.success(), "git {args:?}: {status:?}");
}

/// A repository with one fix merged by a merge commit and one squashed.
fn repository(dir: &Path) {
    fs::create_dir(dir).expect("the folder can be made");
    let write = |text: &str| fs::write(dir.join("a.py"), text).expect("the file can be written");
    git(dir, &["init", "-q", "-b", "main"]);
    write("def f(x):\n    return x - 1\n");
    git(dir, &["add", "a.py"]);
    git(dir, &["commit", "-q", "-m", "Start"]);
    git(dir, &["checkout", "-q", "-b", "fix"]);
    write("def f(x):\n    return x + 1\n");
    git(dir, &["commit", "-q", "-a", "-m", "Fix f, which subtracts"]);
    git(dir, &["checkout", "-q", "main"]);
    let message = "Merge pull request #2 from a/fix\n\nFix the bug that f subtracts";
    git(dir, &["merge", "-q", "--no-ff", "-m", message, "fix"]);
    write("def f(x):\n    return x + 2\n");
    git(dir, &["commit", "-q", "-a", "-m", "Fix wrong result of f (#3)"]);
}

#[test]
fn a_repository_gives_seeds() {
    let dir = tempdir().unwrap();
    repository(&dir.path().join("repo"));
    let args = ["curate", "repo", "repo", "--name", "o/r", "--out", "seeds.jsonl", "--json"];
    let ran = swerl(dir.path(), &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let dropped: u64 =
        report["dropped"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    let count = |key: &str| report[key].as_u64().unwrap();
    assert_eq!(count("inputs"), count("kept") + dropped);
    let seeds = swerl::data::read_seeds(dir.path().join("seeds.jsonl")).unwrap();
    let ids: Vec<&str> = seeds.iter().map(|seed| seed.id.as_str()).collect();
    assert_eq!(ids, ["o/r#2", "o/r#3"]);
    assert_eq!(seeds[0].context()["a.py"], "def f(x):\n    return x - 1\n");
    assert_eq!(seeds[0].oracle["a.py"], "def f(x):\n    return x + 1\n");

    let first = fs::read(dir.path().join("seeds.jsonl")).unwrap();
    assert_eq!(swerl(dir.path(), &args).code, Some(0));
    assert_eq!(fs::read(dir.path().join("seeds.jsonl")).unwrap(), first, "the same bytes again");
    assert_eq!(names(dir.path()), ["repo", "seeds.jsonl"]);
}

#[test]
fn faults_are_one_line_and_leave_nothing() {
    let dir = tempdir().unwrap();
    let path = dir.path();
    repository(&path.join("repo"));
    fs::create_dir(path.join("empty")).unwrap();
    fs::create_dir(path.join("events")).unwrap();
    // The start of a gzip file, and no more.
    fs::write(path.join("events/2020-01-01-0.json.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
        .unwrap();
    fs::create_dir_all(path.join("bare.git/objects")).unwrap();
    fs::create_dir_all(path.join("bare.git/refs")).unwrap();
    fs::write(path.join("bare.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let before = names(path);
    let repo = |from: &str, out: &str| swerl(path, &["curate", "repo", from, "--out", out]);
    fails(&repo("missing", "s.jsonl"), 1, &["missing"]);
    fails(&repo("empty", "s.jsonl"), 1, &["empty: not a git repository"]);
    fails(&repo("bare.git", "s.jsonl"), 1, &["bare.git", "clone it again"]);
    fails(&repo("repo", "no/such/folder.jsonl"), 1, &["no/such/folder.jsonl", "does not exist"]);
    fails(&repo("repo", "empty"), 1, &["cannot write empty", "folder"]);
    let all = |events: &str, repos: &str| {
        swerl(path, &["curate", "all", events, "--repos", repos, "--out", "s.jsonl"])
    };
    fails(&all("events", "empty"), 1, &["2020-01-01-0.json.gz", "truncated"]);
    fails(&all("empty", "empty"), 1, &["empty: no *.json.gz file"]);
    fails(&all("events", "missing"), 1, &["missing: no such folder"]);
    assert_eq!(names(path), before);
}

#[test]
fn no_seed_is_a_failure() {
    let dir = tempdir().unwrap();
    repository(&dir.path().join("repo"));
    let args = ["curate", "repo", "repo", "--out", "seeds.jsonl", "--max-files", "0"];
    let ran = swerl(dir.path(), &args);
    fails(&ran, 1, &["repo: no pull request gave a seed"]);
    assert!(ran.stdout.contains("too_many_files"), "{}", ran.stdout);
    assert_eq!(names(dir.path()), ["repo"]);
}

/// `curate repo` into `seeds.jsonl` with these options besides.
fn seeds(path: &Path, options: &[&str]) -> crate::run::Ran {
    let mut args = vec!["curate", "repo", "repo", "--name", "o/r", "--out", "seeds.jsonl"];
    args.extend(options);
    swerl(path, &args)
}

#[test]
fn inspect_shows_a_seed() {
    let dir = tempdir().unwrap();
    let path = dir.path();
    repository(&path.join("repo"));
    assert_eq!(seeds(path, &["--card", "card"]).code, Some(0));
    let card = fs::read_to_string(path.join("card/data-card.md")).unwrap();
    assert!(card.contains("| seeds | 2 |") && card.contains("# Data card: seeds.jsonl"), "{card}");
    let inspect = |seed: &str, colour: &str| {
        swerl(path, &["curate", "inspect", seed, "--seeds", "seeds.jsonl", "--color", colour])
    };
    let plain = inspect("o/r#2", "auto");
    assert_eq!(plain.code, Some(0), "{plain:?}");
    for part in ["o/r#2", "Fix the bug that f subtracts", "-    return x - 1\n+    return x + 1\n"]
    {
        assert!(plain.stdout.contains(part), "{part} is not in\n{}", plain.stdout);
    }
    assert!(!plain.stdout.contains('\u{1b}'));
    let coloured = inspect("1", "always").stdout;
    assert!(coloured.contains("\u{1b}[32m+    return x + 1\u{1b}[0m\n"), "{coloured:?}");
    fails(&inspect("o/r#9", "never"), 1, &["seeds.jsonl: no seed 'o/r#9'", "o/r#2"]);
    fails(&inspect("0", "never"), 1, &["no seed '0'"]);
}

#[test]
fn rows_go_out_and_come_back() {
    let dir = tempdir().unwrap();
    let path = dir.path();
    repository(&path.join("repo"));
    assert_eq!(seeds(path, &[]).code, Some(0));
    let export = |format: &str| {
        let ran = swerl(path, &["curate", "export", "seeds.jsonl", "--format", format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let rows = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        (rows.collect::<Vec<Value>>(), ran.stdout)
    };
    let (rows, _) = export("trl");
    let question = rows[0]["prompt"][1]["content"].as_str().unwrap();
    assert!(question.contains("--- BEGIN ISSUE ---\nFix the bug that f subtracts\n"), "{question}");
    assert!(question.contains("### a.py\ndef f(x):\n    return x - 1\n"), "{question}");
    let (rows, _) = export("verl");
    assert_eq!(rows[1]["extra_info"]["index"], 1);
    let (rows, text) = export("swe-bench");
    assert_eq!(rows[0]["instance_id"], "o__r-2");
    fs::write(path.join("rows.jsonl"), text).unwrap();
    fs::create_dir(path.join("o")).unwrap();
    fs::rename(path.join("repo"), path.join("o/r")).unwrap();
    let import = |format: &str, out: &str| {
        let args = ["curate", "import", "rows.jsonl", "--format", format, "--repos", "."];
        swerl(path, &[&args[..], &["--out", out]].concat())
    };
    let ran = import("swe-bench", "back.jsonl");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (old, new) = ("seeds.jsonl", "back.jsonl");
    let read = |name: &str| swerl::data::read_seeds(path.join(name)).unwrap();
    let oracles = |name: &str| read(name).into_iter().map(|s| s.oracle).collect::<Vec<_>>();
    assert_eq!(oracles(new), oracles(old));
    fails(&import("r2e-gym", "x.jsonl"), 1, &["rows.jsonl:1: not an instance", "repo_name"]);
    assert_eq!(import("other", "x.jsonl").code, Some(2));
}

#[test]
fn filters_of_the_command_line() {
    let dir = tempdir().unwrap();
    let path = dir.path();
    repository(&path.join("repo"));
    fs::write(path.join("ids.txt"), "o__r-2\n").unwrap();
    let ran = seeds(path, &["--exclude-instances", "ids.txt"]);
    assert!(ran.stdout.contains("1  dropped: excluded_instance"), "{}", ran.stdout);
    let none = "no pull request gave a seed";
    fails(&seeds(path, &["--merged-before", "2020-01-02"]), 1, &[none]);
    fails(&seeds(path, &["--licences", "permissive,GPL-3.0"]), 1, &[none]);
    assert_eq!(seeds(path, &["--licences", "NONE"]).code, Some(0));
    fails(&seeds(path, &["--merged-before", "soon"]), 1, &["--merged-before soon", "moment"]);
    fails(&seeds(path, &["--near-duplicates=-1"]), 1, &["not below 0"]);
    fails(&seeds(path, &["--exclude-instances", "none.txt"]), 1, &["cannot read none.txt"]);
}
