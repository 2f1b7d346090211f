//! Minimal edits: exact when applied, reward 1 when rendered, as short as promised.

use proptest::prelude::*;
use swerl_reward::{apply_edits, minimal_edits, render_answer, score_search_replace};

use crate::files;
use crate::laws::runner;

#[track_caller]
fn check(old: &str, new: &str, expected: &[(&str, &str)]) {
    let (context, oracle) = (files(&[("p", old)]), files(&[("p", new)]));
    let edits = minimal_edits(&context, &oracle);
    let found: Vec<(&str, &str)> =
        edits.iter().map(|edit| (edit.search.as_str(), edit.replace.as_str())).collect();
    assert_eq!(found, expected);
    assert_eq!(apply_edits(&context, &edits).unwrap(), oracle);
}

#[test]
fn shapes() {
    check("a\nb\nc\n", "a\nB\nc\n", &[("b", "B")]);
    // "b" alone would also match the start of "bb".
    check("bb\nb\nc\n", "bb\nB\nc\n", &[("bb\nb", "bb\nB")]);
    check("a\nb\nc\n", "a\nc\n", &[("a\nb", "a")]);
    check("a\nb\n", "a\nx\nb\n", &[("a", "a\nx")]);
    check("x\n", "y\nx\n", &[("x", "y\nx")]);
    check("a", "", &[("a", "")]);
    check("", "a\n", &[("", "a\n")]);
    check("a = 1", "a = 1\n", &[("a = 1", "a = 1\n")]);
    check("a\r\nb\r\n", "a\r\nc\r\n", &[("b\r", "c\r")]);
    check("1\n2\n3\n4\n5\n", "x\n2\n3\n4\ny\n", &[("1", "x"), ("5", "y")]);
    assert_eq!(minimal_edits(&files(&[("p", "a\n")]), &files(&[("p", "a\n"), ("q", "")])), []);
}

#[test]
fn a_repeated_line_far_from_anything_unique() {
    let old = format!("first\n{}last\n", "same\n".repeat(40));
    let new = format!("first\n{}other\n{}last\n", "same\n".repeat(19), "same\n".repeat(20));
    let (context, oracle) = (files(&[("p", &old)]), files(&[("p", &new)]));
    let edits = minimal_edits(&context, &oracle);
    assert_eq!(apply_edits(&context, &edits).unwrap(), oracle);
    assert_eq!(score_search_replace(&context, &oracle, &render_answer("t", &edits)).reward, 1.0);
}

#[test]
fn rendered_and_scored_gives_one() {
    let lines = |count| {
        prop::collection::vec("[ab]{0,2}|x = 1|    return y|é\r|\\}", count)
            .prop_map(|lines| lines.join("\n"))
    };
    let pair = (lines(0..14), lines(0..14), prop::bool::ANY);
    // Either unrelated texts, or one with a few lines changed.
    let pair = (pair, prop::collection::vec((0..14usize, "[abc]{0,2}"), 1..4)).prop_map(
        |((old, other, related), changes)| {
            if !related {
                return (old, other);
            }
            let mut new: Vec<String> = old.split('\n').map(str::to_owned).collect();
            for (at, line) in changes {
                let at = at % (new.len() + 1);
                new.splice(at..(at + 1).min(new.len()), [line]);
            }
            (old, new.join("\n"))
        },
    );
    runner(2000)
        .run(&(pair.clone(), pair), |((old_a, new_a), (old_b, new_b))| {
            let context = files(&[("a.py", &old_a), ("b.py", &old_b)]);
            let oracle = files(&[("a.py", &new_a), ("b.py", &new_b), ("new.py", &new_a)]);
            let edits = minimal_edits(&context, &oracle);
            if edits.is_empty() {
                return Ok(());
            }
            let applied = apply_edits(&context, &edits).unwrap();
            for (path, text) in &oracle {
                let old = context.get(path).map_or("", String::as_str);
                prop_assert_eq!(applied.get(path).map_or(old, String::as_str), text);
            }
            let score = score_search_replace(&context, &oracle, &render_answer("thought", &edits));
            prop_assert_eq!(score.reward, 1.0);
            prop_assert!(score.is_exact());
            Ok(())
        })
        .unwrap();
}
