//! Explanations: the nearest lines of a missed search text.

use swerl_reward::{NearMiss, Outcome, nearest_lines, score_search_replace};

use crate::files;

const FILE: &str = "import os\n\n\ndef area(w, h):\n    return w + h\n\n\ndef perimeter(w, h):\n    return 2 * (w + h)\n";

#[track_caller]
fn check(search: &str, line: usize, diff: &str) {
    let NearMiss { line: found, diff: drawn, similarity, .. } =
        nearest_lines(FILE, search).unwrap();
    assert_eq!((found, drawn.as_str()), (line, diff), "{search:?}");
    assert!((0.0..1.0).contains(&similarity), "{search:?}");
}

#[test]
fn nearest() {
    check("return w + h", 5, "-return w + h\n+····return w + h");
    check("\treturn w + h\r", 5, "-→return w + h␍\n+····return w + h");
    check(
        "def area(w, h):\n    return w +  h",
        4,
        " def area(w, h):\n-    return w +  h\n+    return w + h"
            .replace("-    ", "-····")
            .replace("+    r", "+····r")
            .as_str(),
    );
    check("def perimeter(w, height):", 8, "-def perimeter(w, height):\n+def perimeter(w, h):");
    assert_eq!(nearest_lines(FILE, "#############"), None);
    assert_eq!(nearest_lines("", ""), None);
    assert_eq!(nearest_lines("", "x"), None);
}

#[test]
fn in_the_score() {
    let context = files(&[("geo.py", FILE)]);
    let output = "<think>t</think><solution>```\n### geo.py\n<<<<<<< SEARCH\nreturn w + h\n=======\nx\n>>>>>>> REPLACE\n```</solution>";
    let score = score_search_replace(&context, &context, output);
    assert_eq!(score.outcome, Outcome::SearchNotFound { path: "geo.py".into(), index: 0 });
    assert_eq!(score.edits, 1);
    assert_eq!(score.near_miss.as_ref().unwrap().line, 5);
    let text = score.to_string();
    assert!(
        text.starts_with(
            "reward -1.0000: edit 0 of \"geo.py\": the search text is not in the file\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("-return w + h\n+····return w + h"), "{text}");
}

#[test]
fn lines_of_any_length_and_invisible_characters() {
    let long = "0123456789".repeat(2_000);
    let near = nearest_lines(&format!("a\n{long}\nb"), &format!(" {long}x")).unwrap();
    assert_eq!(near.line, 2);
    assert_eq!(near.text, long);
    let near = nearest_lines("x = a\u{200b}b\u{3000}c\n", "x = a b c").unwrap();
    assert_eq!(near.diff, "-x = a b c\n+x = a\\u{200b}b\\u{3000}c");
}

/// One minified line would else be copied into every score of a group.
#[test]
fn the_text_of_a_near_miss_is_bounded() {
    let file = "é".repeat(5_000_000);
    let near = nearest_lines(&file, &format!(" {}", &file[..4_000])).unwrap();
    assert_eq!((near.line, near.text.len()), (1, 1 << 16));
    assert!(near.diff.len() < 1 << 14, "{}", near.diff.len());
}
