//! The answer format: tags, the lazy grammar of edits, applying.

use swerl_reward::format::{
    Edit, FormatFailure, edit_blocks, parse_answer, render_answer, render_edit,
};
use swerl_reward::{ApplyFailure, apply_edits};

use crate::files;

fn edit(path: &str, search: &str, replace: &str) -> Edit {
    Edit { path: path.into(), search: search.into(), replace: replace.into() }
}

#[track_caller]
fn check_blocks(solution: &str, expected: &[(&str, &str, &str)]) {
    let found: Vec<Edit> = edit_blocks(solution).collect();
    let expected: Vec<Edit> = expected.iter().map(|&(p, s, r)| edit(p, s, r)).collect();
    assert_eq!(found, expected, "{solution:?}");
}

#[test]
fn grammar() {
    let block = "```\n### p\n<<<<<<< SEARCH\ns\n=======\nr\n>>>>>>> REPLACE\n```";
    check_blocks(block, &[("p", "s", "r")]);
    check_blocks(&format!("{block}{block}"), &[("p", "s", "r"), ("p", "s", "r")]);
    check_blocks(&format!("```\n{block}"), &[("p", "s", "r")]);
    check_blocks(&format!("``` ```x\n### a\n{block}"), &[("p", "s", "r")]);
    check_blocks("```\n### \n<<<<<<< SEARCH\n\n=======\n\n>>>>>>> REPLACE\n```", &[("", "", "")]);
    check_blocks(
        "```\n###  p \n<<<<<<< SEARCH\ns\n\n=======\n\nr\n>>>>>>> REPLACE\n```",
        &[(" p ", "s\n", "\nr")],
    );
    // The replacement's empty line is missing: the closing belongs to the text, nothing closes.
    check_blocks("```\n### p\n<<<<<<< SEARCH\ns\n=======\n>>>>>>> REPLACE\n```", &[]);
    // A closing marker without a fence is text.
    check_blocks(
        "```\n### p\n<<<<<<< SEARCH\ns\n=======\nr\n>>>>>>> REPLACE\nx\n>>>>>>> REPLACE\n```",
        &[("p", "s", "r\n>>>>>>> REPLACE\nx")],
    );
    // The first head has no divider before the second one's: it swallows it.
    check_blocks(
        "```\n### p\n<<<<<<< SEARCH\ns\n```\n### q\n<<<<<<< SEARCH\nt\n=======\nr\n>>>>>>> REPLACE\n```",
        &[("p", "s\n```\n### q\n<<<<<<< SEARCH\nt", "r")],
    );
    check_blocks(&block.replace('\n', "\r\n"), &[]);
    check_blocks(&block.replace("=======", "======= "), &[]);
    check_blocks(&block.replace("### p", "###p"), &[]);
    check_blocks("", &[]);
    check_blocks("```", &[]);
    check_blocks("```\n", &[]);
    check_blocks("```\n### ", &[]);
}

#[test]
fn tags_are_checked_in_order() {
    let tags = |tag, count| Err(FormatFailure::Tags { tag, count });
    assert_eq!(parse_answer(""), tags("<think>", 0));
    assert_eq!(parse_answer("<think><think></solution></solution>"), tags("<think>", 2));
    assert_eq!(parse_answer("<think></think></think>"), tags("</think>", 2));
    assert_eq!(parse_answer("<think>a</think><solution>"), tags("</solution>", 0));
    assert_eq!(parse_answer("<THINK>a</think><solution></solution>"), tags("<think>", 0));
    let spaces = "<think> \u{1c}\u{1f}\u{85}\u{a0}\u{3000}\n</think><solution></solution>";
    assert_eq!(parse_answer(spaces), Err(FormatFailure::EmptyThought));
    assert_eq!(
        parse_answer("<think>\u{200b}</think><solution></solution>"),
        Err(FormatFailure::NoEdits)
    );
}

#[test]
fn rendering_is_read_back() {
    let edits =
        [edit("a/b.py", "x\n\n", ""), edit("a/b.py", "", "\ny"), edit("c", "=======\nz", "```\n")];
    let answer = parse_answer(&render_answer("because", &edits)).unwrap();
    assert_eq!((answer.thought.as_str(), answer.edits.as_slice()), ("because", edits.as_slice()));
    assert!(render_edit(&edits[0], "python").starts_with("```python\n### a/b.py\n"));
}

#[test]
fn application() {
    let context = files(&[("p", "ab\nab\ncab"), ("e", "")]);
    let apply = |edits: &[Edit]| apply_edits(&context, edits);
    assert_eq!(apply(&[edit("p", "a", "x")]).unwrap(), files(&[("p", "xb\nxb\ncab")]));
    assert_eq!(apply(&[edit("p", "", "- ")]).unwrap(), files(&[("p", "- ab\n- ab\n- cab")]));
    assert_eq!(apply(&[edit("n", "", "new\n")]).unwrap(), files(&[("n", "new\n")]));
    assert_eq!(apply(&[edit("e", "", "new\n")]).unwrap(), files(&[("e", "new\n")]));
    // Grouped by path: the second edit of p comes before the one of n, whose failure is later.
    let failure =
        apply(&[edit("p", "ab", "q"), edit("n", "zz", "y"), edit("p", "ab", "r")]).unwrap_err();
    assert_eq!(failure, ApplyFailure::SearchNotFound { path: "p".into(), index: 2 });
    let failure = apply(&[edit("zz", "q", "q")]).unwrap_err();
    assert_eq!(failure, ApplyFailure::SearchEqualsReplace { path: "zz".into(), index: 0 });
}
