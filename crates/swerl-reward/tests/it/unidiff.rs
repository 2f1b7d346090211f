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
    let huge = "--- a/f\n+++ b/f\n@@ -1 +1,99999999999999999999 @@\n-a\n";
    assert_eq!(broken(huge), UnidiffFailure::ShortHunk { line: 3 });
    let good = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n";
    for (text, failure) in [
        ("+++ b/g\n", UnidiffFailure::TargetWithoutSource { line: 6 }),
        ("prose\n\\ No newline at end of file\n", UnidiffFailure::StrayMarker { line: 7 }),
        ("prose\n@@ -1 +1 @@\n-a\n+b\n", UnidiffFailure::HunkOutsideFile { line: 7 }),
        ("new file mode 100644\n", UnidiffFailure::OutsideFile { line: 6 }),
        ("GIT binary patch\n", UnidiffFailure::OutsideFile { line: 6 }),
        ("diff --git a/x b/x\n--- a/x\n+++ b/y\n", UnidiffFailure::TargetWithoutSource { line: 8 }),
    ] {
        assert_eq!(broken(&format!("{good}{text}")), failure, "{text:?}");
    }
    assert_eq!(score_unidiff(&[huge], &[good]).reward, 0.0);
    assert_eq!(score_unidiff(&[huge], &["x"]).reward, 1.0);
}

#[test]
fn prose_between_files_is_passed_over() {
    let good = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n";
    for prose in ["```\n", "+more than the header says\n", "\n\n", "-- \n2.40\n"] {
        assert_eq!(score_unidiff(&[format!("{good}{prose}")], &[good]).reward, 1.0, "{prose:?}");
        let other = format!("{good}{prose}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n");
        check(&other, &[("f", "@@ -2,1 +2,1 @@\n-two\n+TWO"), ("g", "@@ -1,1 +1,1 @@\n-a\n+b")]);
    }
}

/// What is read otherwise than by `unidiff`, on purpose: names.
#[test]
fn names_without_quotes_and_only_plain_prefixes() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let body = "@@ -1,1 +1,1 @@\n-a\n+b";
    check(&format!("--- \"a/q r\"\n+++ \"b/q r\"\n{hunk}"), &[("q r", body)]);
    check(&format!("--- i/f\n+++ i/f\n{hunk}"), &[("i/f", body)]);
}

/// A recorded text and its patches; `None` where the reader of the released reward refuses it.
#[derive(serde::Deserialize)]
struct Recorded {
    text: String,
    patches: Option<std::collections::BTreeMap<String, String>>,
}

/// Mutated diffs as PyPI's `unidiff` reads them; UNIDIFF_GOLDEN names another file of
/// `make_unidiff.py`.
#[test]
fn every_recorded_reading() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/unidiff.json");
    let file = std::env::var("UNIDIFF_GOLDEN").unwrap_or_else(|_| golden.to_owned());
    let recorded: Vec<Recorded> =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let refused = recorded.iter().filter(|case| case.patches.is_none()).count();
    assert!(refused > 50 && recorded.len() - refused > 100, "{refused} of {}", recorded.len());
    for case in recorded {
        assert_eq!(parse_unidiff(&case.text).ok(), case.patches, "{:?}", case.text);
    }
}
