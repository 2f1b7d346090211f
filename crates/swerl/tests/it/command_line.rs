//! Help, wrong usage and interrupts.

use std::{io::Write, process::Stdio, thread, time::Duration};

use tempfile::tempdir;

use crate::run::{Ran, command, names, swerl};

#[test]
fn help_has_examples_and_exit_codes() {
    let dir = tempdir().unwrap();
    for args in [&["--help"][..], &["score", "--help"], &["curate", "repo", "--help"]] {
        let ran = swerl(dir.path(), args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("Usage: swerl"), "{}", ran.stdout);
    }
    let ran = swerl(dir.path(), &["--help"]);
    assert!(ran.stdout.contains("Examples:"));
    assert!(ran.stdout.contains("Exit codes:"));
}

#[test]
fn wrong_usage_is_code_2() {
    let dir = tempdir().unwrap();
    for args in [&["score"][..], &["--no-such-flag"], &["curate", "repo", "."], &["no-such"], &[]] {
        let ran = swerl(dir.path(), args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
        assert!(names(dir.path()).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    let dir = tempdir().unwrap();
    let mut child = command(dir.path(), &["score", "-", "--out", "scores.jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"context": {{}}, "oracle": {{}}, "output": ""}}"#).unwrap();
    for _ in 0..1_000 {
        if names(dir.path()) == ["scores.jsonl.tmp"] {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(names(dir.path()), ["scores.jsonl.tmp"]);
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    // The input stays open: the command ends by itself.
    let ran = Ran::from(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(ran.stderr, "error: interrupted\n");
    assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
}
