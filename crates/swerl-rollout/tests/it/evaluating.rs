//! Evaluation by seed and its paired comparison.

use swerl_rollout::{
    CollectError, Evaluation, EvaluationSettings, Prompt, PromptBuilder, SamplingParams, Script,
    ScriptedSampler, Template, evaluate,
};

use crate::support::{Bytes, right, seeds, wrong};

/// Answers right when `is_right` says so of the seed's number, else wrong, or not at all for
/// number 1.
fn run(count: u64, is_right: impl Fn(usize) -> bool) -> Evaluation {
    let seeds = seeds(count);
    let script = |prompt: &Prompt, _, _| {
        let index = seeds.iter().position(|seed| seed.id == prompt.id).expect("a known prompt");
        let answer = if is_right(index) { right(&seeds[index]) } else { wrong(&seeds[index]) };
        Script::stop(if index == 0 { "?".to_owned() } else { answer })
    };
    let settings = EvaluationSettings {
        params: SamplingParams::plain(500, &[Bytes::EOS]),
        seed: 1,
        shuffle_files: true,
    };
    let builder = PromptBuilder::new(Bytes, Template::Compact, 1000);
    let mut sampler = ScriptedSampler::new(Bytes, script);
    evaluate(&(), &mut sampler, &builder, &seeds, &settings, 7, &mut ()).expect("evaluated")
}

#[test]
fn figures_and_differences_are_by_seed() {
    let before = run(10, |index| index < 3);
    let after = run(10, |index| index < 8);
    assert_eq!((before.weights_version, before.results.len()), (7, 10));
    assert!((before.format_valid() - 0.9).abs() < 1e-12);
    assert!((before.exact() - 0.2).abs() < 1e-12);
    assert!((after.exact() - 0.7).abs() < 1e-12);
    assert_eq!(before.results[0].outcome, "tags");
    let similarity = before.results[9].reward;
    let expected = (2.0 + 7.0 * similarity) / 9.0;
    assert!((before.valid_similarity().expect("some are valid") - expected).abs() < 1e-3);
    let paired = before.compare(&after).expect("the same seeds");
    assert_eq!((paired.pairs, paired.better, paired.worse), (10, 5, 0));
    let rise = after.reward_mean() - before.reward_mean();
    assert!((paired.difference.mean - rise).abs() < 1e-12);
    assert!(paired.difference.low < rise && rise < paired.difference.high);
    let exact = before.compare_by(&after, |result| f64::from(u8::from(result.exact)));
    assert!((exact.expect("the same seeds").difference.mean - 0.5).abs() < 1e-12);
    assert!(before.reward_interval().is_some());
}

#[test]
fn other_seeds_cannot_be_compared() {
    assert_eq!(run(4, |_| true).compare(&run(5, |_| true)), None);
}

#[test]
fn no_seeds_are_refused() {
    let settings =
        EvaluationSettings { params: SamplingParams::plain(5, &[]), seed: 1, shuffle_files: false };
    let builder = PromptBuilder::new(Bytes, Template::Compact, 1000);
    let mut sampler = ScriptedSampler::new(Bytes, |_: &Prompt, _, _| Script::stop("x"));
    let error = evaluate(&(), &mut sampler, &builder, &[], &settings, 0, &mut ());
    assert!(matches!(error, Err(CollectError::NoSeeds)));
}
