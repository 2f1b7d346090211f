//! The reader of unified diffs.

use swerl_reward::{UnidiffFailure, parse_unidiff, score_unidiff};

use crate::files;

#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    assert_eq!(parse_unidiff(text), Ok(files(expected)), "{text:?}");
}

#[test]
fn bodies() {
    check("", &[]);
    check("no diff at all", &[]);
    check("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n", &[("f", "@@ -2,1 +2,1 @@\n-two\n+TWO")]);
    // A section heading stays, a lost final LF does not matter.
    check(
        "--- a/f\n+++ b/f\n@@ -2 +2 @@ def f():\n-two\n+TWO",
        &[("f", "@@ -2,1 +2,1 @@ def f():\n-two\n+TWO")],
    );
    // Lines that look like headers inside a hunk are lines.
    check(
        "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n--- a/x\n x\n",
        &[("f", "@@ -1,2 +1,1 @@\n--- a/x\n x")],
    );
    check(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
        &[(
            "f",
            "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file",
        )],
    );
    check(
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n@@ -9 +9 @@\n-x\n+y\n",
        &[("f", "@@ -1,3 +1,3 @@\n a\n \n-b\n+c\n@@ -9,1 +9,1 @@\n-x\n+y")],
    );
}

#[test]
fn paths() {
    check(
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
        &[("n", "@@ -0,0 +1,1 @@\n+x")],
    );
    check(
        "diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        &[("d", "@@ -1,1 +0,0 @@\n-x")],
    );
    check(
        "--- f.c\t2020-01-01 00:00:00\n+++ f.c\t2020-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n",
        &[("f.c", "@@ -1,1 +1,1 @@\n-a\n+b")],
    );
    check(
        "diff --git a/o b/n\nsimilarity index 50%\nrename from o\nrename to n\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n",
        &[("o", "rename from o to n\n@@ -1,1 +1,1 @@\n-a\n+b")],
    );
    check("diff --git a/o b/n\nrename from o\nrename to n\n", &[("o", "rename from o to n")]);
    check(
        "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n",
        &[],
    );
    check("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", &[]);
    check(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        &[("f", "@@ -1,1 +1,1 @@\n-a\n+b"), ("g", "@@ -1,1 +1,1 @@\n-a\n+b")],
    );
}

#[test]
fn broken_texts_are_named_and_count_as_nothing() {
    let broken = |text: &str| parse_unidiff(text).unwrap_err();
    assert_eq!(broken("@@ -1 +1 @@\n-a\n+b\n"), UnidiffFailure::HunkOutsideFile { line: 1 });
    assert_eq!(
        broken("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n+b\n"),
        UnidiffFailure::ShortHunk { line: 3 }
    );
    assert_eq!(
        broken("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n-b\n+b\n"),
        UnidiffFailure::LongHunk { line: 5 }
    );
    assert_eq!(
        broken("--- a/f\n+++ b/f\n@@ -1 +1 @@\n*a\n"),
        UnidiffFailure::BadHunkLine { line: 4 }
    );
    let huge = "--- a/f\n+++ b/f\n@@ -1 +99999999999999999999 @@\n-a\n";
    assert_eq!(broken(huge), UnidiffFailure::BadHunkHeader { line: 3 });
    let good = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n";
    assert_eq!(score_unidiff(&[huge], &[good]).reward, 0.0);
    assert_eq!(score_unidiff(&[huge], &["x"]).reward, 1.0);
}

#[test]
fn stray_lines_outside_hunks_are_passed_over() {
    let good = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n";
    for stray in
        ["+++ b/g\n", "\\ No newline at end of file\n", "+more than the header says\n", "```\n"]
    {
        let score = score_unidiff(&[format!("{good}prose\n{stray}")], &[good]);
        assert_eq!(score.reward, 1.0, "{stray:?}");
    }
}
