//! Recorded cases: 66 rewards of the published rules, and difflib's ratios and patches.
//! The floats need serde_json's `float_roundtrip`.

use std::collections::BTreeMap;

use serde::Deserialize;
use swerl_reward::similarity::{Matcher, ratio};
use swerl_reward::{
    Outcome, Score, Target, normalized_patches, parse_answer, score_contents, score_search_replace,
    score_unidiff, unified_patch,
};

type Files = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    code_context: Files,
    oracle_new_content: Files,
    model_output: Option<String>,
    expected_reward: f64,
    expected_error: Option<String>,
    similarities: Option<BTreeMap<String, f64>>,
    pred_patch: Option<Files>,
    oracle_patch: Option<Files>,
    thought: Option<String>,
    pred_new_content: Option<Files>,
    oracle_patches: Option<Vec<String>>,
    pred_patches: Option<Vec<String>>,
}

#[test]
fn every_recorded_reward() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../golden/reward.json")).unwrap();
    assert_eq!(cases.len(), 66);
    for case in &cases {
        check(case);
    }
}

#[track_caller]
fn check(case: &Case) {
    let name = &case.name;
    let score = match case.kind.as_str() {
        "search_replace" => score_search_replace(
            &case.code_context,
            &case.oracle_new_content,
            case.model_output.as_ref().unwrap(),
        ),
        "general" => score_contents(
            &case.code_context,
            case.pred_new_content.as_ref().unwrap(),
            &case.oracle_new_content,
        ),
        "unidiff" => score_unidiff(
            case.pred_patches.as_ref().unwrap(),
            case.oracle_patches.as_ref().unwrap(),
        ),
        kind => panic!("{name}: unknown kind {kind}"),
    };
    assert!((score.reward - case.expected_reward).abs() < 1e-12, "{name}: {score}");
    check_outcome(name, &score, case.expected_error.as_deref());
    if let Some(similarities) = &case.similarities {
        assert_eq!(&score.similarities, similarities, "{name}");
    }
    if let Some(thought) = &case.thought {
        assert_eq!(score.thought.as_ref(), Some(thought), "{name}");
    }
    if let (Some(predicted), Some(oracle)) = (&case.pred_patch, &case.oracle_patch) {
        let answer = parse_answer(case.model_output.as_ref().unwrap()).unwrap();
        let new = swerl_reward::apply_edits(&case.code_context, &answer.edits).unwrap();
        assert_eq!(&new, case.pred_new_content.as_ref().unwrap(), "{name}");
        let ours = normalized_patches(&case.code_context, &new);
        let target = Target::new(&case.code_context, &case.oracle_new_content);
        for (path, patch) in predicted {
            assert_eq!(ours.get(path).map_or("", String::as_str), patch, "{name} {path}");
        }
        for (path, patch) in oracle {
            assert_eq!(
                target.patches().get(path).map_or("", String::as_str),
                patch,
                "{name} {path}"
            );
        }
        assert!(ours.keys().all(|path| predicted.contains_key(path)), "{name}");
        assert!(target.patches().keys().all(|path| oracle.contains_key(path)), "{name}");
    }
}

/// The recorded message names the rule; ours must name the same one.
#[track_caller]
fn check_outcome(name: &str, score: &Score, error: Option<&str>) {
    let expected = match error {
        None => "scored",
        Some("Thought is empty") => "empty_thought",
        Some("No valid search blocks found") => "no_edits",
        Some("Search and replace blocks are identical") => "search_equals_replace",
        Some(text) if text.starts_with("Search block not found") => "search_not_found",
        Some(text) => {
            // What is left are tag counts, which name their tag.
            let Outcome::Tags { tag, .. } = &score.outcome else {
                panic!("{name}: {text}: {score}")
            };
            assert!(
                text.contains(tag.trim_matches(['<', '>'])) || text.contains("tag"),
                "{name}: {text}: {tag}"
            );
            "tags"
        }
    };
    assert_eq!(score.outcome.kind(), expected, "{name}: {score}");
    assert_eq!(score.is_valid(), error.is_none(), "{name}");
}

#[derive(Deserialize)]
struct Difflib {
    ratio: Vec<Ratio>,
    unified: Vec<Unified>,
}

#[derive(Deserialize)]
struct Ratio {
    name: String,
    a: String,
    b: String,
    ratio: f64,
}

#[derive(Deserialize)]
struct Unified {
    name: String,
    old: String,
    new: String,
    patch: String,
}

#[test]
fn every_recorded_ratio_and_patch() {
    let cases: Difflib = serde_json::from_str(include_str!("../golden/difflib.json")).unwrap();
    assert_eq!((cases.ratio.len(), cases.unified.len()), (44, 41));
    let mut reused = Matcher::new();
    for Ratio { name, a, b, ratio: expected } in &cases.ratio {
        assert_eq!(ratio(a, b), *expected, "{name}");
        assert_eq!(reused.ratio(a, b), *expected, "{name}, reused memory");
    }
    for Unified { name, old, new, patch } in &cases.unified {
        assert_eq!(&unified_patch(old, new), patch, "{name}");
    }
}

#[derive(Deserialize)]
struct Random {
    a: String,
    b: String,
    ratio: f64,
    patch: String,
}

/// Made by `tests/golden/make_difflib.py`.
#[test]
fn every_random_ratio_and_patch() {
    let text = include_str!("../golden/difflib_random.json");
    let cases: Vec<Random> = serde_json::from_str(text).unwrap();
    assert!(cases.len() >= 600, "{}", cases.len());
    let mut matcher = Matcher::new();
    for (number, Random { a, b, ratio, patch }) in cases.iter().enumerate() {
        assert_eq!(matcher.ratio(a, b), *ratio, "pair {number}");
        assert_eq!(&unified_patch(a, b), patch, "pair {number}");
    }
}
