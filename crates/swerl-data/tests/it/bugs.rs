//! Does this issue report a bug? Small cases written for this test, with the wanted verdict.

use swerl_data::filter::bug::reports_bug;

#[track_caller]
fn check(expected: bool, title: &str, body: &str, labels: &[&str]) {
    let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
    assert_eq!(reports_bug(title, body, &labels), expected, "{title:?} {body:?} {labels:?}");
}

#[test]
fn labels_decide() {
    check(true, "Add a window", "", &["bug"]);
    check(true, "Add a window", "", &["type: Bug", "enhancement"]);
    check(true, "Docs", "", &["kind/regression"]);
    check(true, "x", "", &["C-bug", "A-docs"]);
    check(false, "Crash on start", "", &["enhancement"]);
    check(false, "Crash on start", "", &["type: feature request"]);
    check(false, "Crash on start", "", &["not a bug"]);
    check(false, "Crash on start", "", &["question", "good first issue"]);
    check(true, "Crash on start", "", &["good first issue", "P1"]);
    check(true, "Crash on start", "", &["debugger"]);
    check(false, "Add a window", "", &["debugger"]);
}

#[test]
fn titles() {
    for title in [
        "Crash on start",
        "TypeError in parse",
        "Wrong result for empty lists",
        "sum() returns one too many",
        "Off-by-one in the pager",
        "fix: keep the order",
        "Fix the order",
        "fix(parser)!: keep the order",
        "Login does not work",
        "Can't log in",
        "Missing None check in total",
        "Regression in 1.2",
        "Deadlock when two threads close",
        "Add missing import",
        "Update fails with an empty file",
        "Unhandled rejection on close",
        "UnicodeDecodeError: cannot read",
        "Memory leak in the cache",
        "Negative totals are shown as positive",
        "Parser: invalid dates are accepted",
        "release_header returns 0 as fallback",
        "update() keeps the old value",
        "Typo in a name raises NameError",
        "Docs build crashes on Windows",
    ] {
        check(true, title, "", &[]);
    }
    for title in [
        "Feature request: show errors in red",
        "[Feature] crash reports",
        "feat: crash reports",
        "docs: fix typo",
        "Add support for dark mode",
        "Allow several hosts",
        "Implement retries",
        "Support Python 3.13",
        "refactor(core): split the module",
        "Improve the speed of start-up",
        "Update dependencies",
        "Release 1.2",
        "How to set the host?",
        "Question: which host is used?",
        "RFC: new parser",
        "It would be nice to have a menu",
        "chore: tidy up",
        "Rename the class",
        "perf: faster start",
        "Document the settings",
        "Fix a typo",
        "Fix spelling",
        "Docstring fixes",
        "Fix broken link in the README",
        "Replace loops with parameters",
        "Version 5.1",
        "Test the empty default",
        "Remove old code",
        "ci: run on Windows",
    ] {
        check(false, title, "", &[]);
    }
}

#[test]
fn bodies_break_the_tie() {
    check(true, "The pager", "Traceback (most recent call last):", &[]);
    check(true, "The pager", "Steps to reproduce: press next", &[]);
    check(false, "The pager", "It would be great to have two.", &[]);
    check(false, "The pager", "Is your feature request related to a problem?", &[]);
    check(true, "The pager", "", &[]);
}
