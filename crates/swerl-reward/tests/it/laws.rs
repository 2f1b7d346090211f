//! Laws that hold for any text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use swerl_reward::format::{edit_blocks, parse_answer};
use swerl_reward::similarity::{Matcher, ratio};
use swerl_reward::{
    Scorer, Target, discrete_reward, nearest_lines, parse_unidiff, score_contents,
    score_search_replace, score_unidiff, split_lines, unified_patch,
};

/// A runner whose draws are the same on every run.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// Texts made of the format's own pieces, where a parser is most likely to trip.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<think>",
        "</think>",
        "<solution>",
        "</solution>",
        "```",
        "```\n",
        "```python\n",
        "### a\n",
        "### b\n",
        "### ",
        "<<<<<<< SEARCH\n",
        "\n=======\n",
        "=======\n",
        "\n>>>>>>> REPLACE\n```",
        ">>>>>>> REPLACE\n",
        "\n",
        "x",
        "x = 1\n",
        "é",
        "\r\n",
        "\u{2028}",
        " ",
        "\0",
        "../",
        "@@ -1,1 +1,1 @@\n",
        "--- a/a\n",
        "+++ b/a\n",
        "-x\n",
        "+y\n",
        " z\n",
        "diff --git a/a b/a\n",
        "rename from a\n",
        "\\ No newline at end of file\n",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![pieces(), "(?s).{0,60}", "[ab\n]{0,60}"]
}

fn contents() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[ab]", text(), 0..3)
}

fn in_range(reward: f64) -> bool {
    reward == -1.0 || (0.0..=1.0).contains(&reward)
}

#[test]
fn any_output_gets_a_reward_in_range() {
    runner(1500)
        .run(&(contents(), contents(), text()), |(context, oracle, output)| {
            let score = score_search_replace(&context, &oracle, &output);
            prop_assert!(in_range(score.reward));
            prop_assert_eq!(score.is_valid(), score.reward >= 0.0);
            prop_assert!(in_range(discrete_reward(&score)));
            prop_assert!(
                score.similarities.values().all(|similarity| (0.0..=1.0).contains(similarity))
            );
            prop_assert!(!score.to_string().is_empty());
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_wrapped_text_never_panics_and_the_batch_agrees() {
    runner(500)
        .run(&(contents(), contents(), pieces()), |(context, oracle, inside)| {
            let output = format!("<think>a</think><solution>\n{inside}\n</solution>");
            let target = Target::new(&context, &oracle);
            let single = Scorer::new().score(&mut Matcher::new(), &target, &output);
            let job = swerl_reward::Job { target: &target, output: &output };
            let batch = Scorer::new().score_batch(&[job, job, job]);
            prop_assert!(batch.iter().all(|score| *score == single));
            let line = serde_json::to_string(&single).unwrap();
            prop_assert_eq!(serde_json::from_str::<swerl_reward::Score>(&line).unwrap(), single);
            Ok(())
        })
        .unwrap();
}

#[test]
fn ratio_laws() {
    runner(1500)
        .run(&(text(), text()), |(a, b)| {
            let value = ratio(&a, &b);
            prop_assert!((0.0..=1.0).contains(&value));
            prop_assert_eq!(value == 1.0, a == b);
            prop_assert_eq!(ratio(&a, &a), 1.0);
            if !a.is_empty() {
                prop_assert_eq!(ratio(&a, ""), 0.0);
                prop_assert_eq!(ratio("", &a), 0.0);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn equal_contents_give_one_and_patches_are_empty_for_equal_lines() {
    runner(500)
        .run(&(contents(), contents()), |(context, new)| {
            let score = score_contents(&context, &new, &new);
            prop_assert_eq!(score.reward, 1.0);
            prop_assert!(score.is_exact());
            for text in new.values() {
                prop_assert_eq!(unified_patch(text, text), "");
                let rejoined: String =
                    split_lines(text).iter().map(|line| format!("{line}\n")).collect();
                prop_assert_eq!(unified_patch(text, &rejoined), "");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn readers_never_panic() {
    runner(1500)
        .run(&(text(), text()), |(one, other)| {
            let _ = parse_answer(&one);
            let _ = edit_blocks(&one).count();
            let _ = parse_unidiff(&one);
            let _ = nearest_lines(&one, &other);
            let score = score_unidiff(&[&one], &[&other]);
            prop_assert!((0.0..=1.0).contains(&score.reward));
            prop_assert_eq!(score_unidiff(&[&one], &[&one]).reward, 1.0);
            Ok(())
        })
        .unwrap();
}
