//! Losses on tensors against their f64 twins, the worked example, and where gradients vanish.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use swerl_grpo::loss::{
    Aggregation, Clip, Kl, KlEstimator, Layout, LossInputs, LossRule, OldLogProbs, RatioLevel,
    loss_and_upstream,
};
use swerl_grpo::{Preset, TokenScores, advantages};

use crate::support::noise;
use crate::twin::{self, TwinSample};

const RATIOS: [RatioLevel; 3] = [RatioLevel::Token, RatioLevel::Sequence, RatioLevel::SequenceMean];

fn tensor(values: Vec<f32>) -> Tensor<1> {
    let len = values.len();
    Tensor::from_data(TensorData::new(values, [len]), &Device::flex())
}

fn flat(samples: &[TwinSample], part: impl Fn(&TwinSample) -> &Vec<f64>) -> Vec<f32> {
    let parts = samples.iter().flat_map(|sample| part(sample).clone());
    parts.map(|value| value as f32).collect()
}

/// Loss and gradients in log-prob and entropy, by the crate.
fn ours(samples: &[TwinSample], rule: &LossRule) -> (f64, Vec<f32>, Vec<f32>) {
    let device = Device::flex();
    let scores = TokenScores::from_host(
        flat(samples, |s| &s.log_prob),
        flat(samples, |s| &s.entropy),
        &device,
    );
    let old = tensor(flat(samples, |s| &s.old));
    let reference = tensor(flat(samples, |s| &s.reference));
    let layout = Layout::new(samples.iter().map(|s| s.log_prob.len()).collect());
    let advantages: Vec<f64> = samples.iter().map(|s| s.advantage).collect();
    let weights: Vec<f64> = samples.iter().map(|s| s.weight).collect();
    let inputs = LossInputs {
        layout: &layout,
        old: (rule.old == OldLogProbs::Behaviour).then_some(&old),
        reference: Some(&reference),
        advantages: &advantages,
        weights: &weights,
    };
    let (value, upstream) = loss_and_upstream(&scores, &inputs, rule).unwrap();
    let (log_prob, entropy) = upstream.to_host().unwrap();
    (value, log_prob, entropy)
}

/// Samples whose ratios lie on both sides of the clip, none within 1e-3 of an edge.
fn samples(seed: u64, lengths: &[usize], aggregation: Aggregation) -> Vec<TwinSample> {
    let tokens = lengths.iter().sum();
    let sample = |(index, &len): (usize, &usize)| {
        let value = |part: u64, t: usize| noise(&[seed, index as u64, part, t as u64]);
        let log_prob: Vec<f64> = (0..len).map(|t| f64::from(-3.0 * value(0, t) as f32)).collect();
        let moved = |part, width: f64| {
            let shift = |t| width * (value(part, t) - 0.5);
            (0..len).map(|t| f64::from((log_prob[t] - shift(t)) as f32)).collect()
        };
        TwinSample {
            old: moved(1, 1.2),
            reference: moved(2, 2.0),
            entropy: (0..len).map(|t| f64::from(2.0 * value(3, t) as f32)).collect(),
            advantage: f64::from(4.0 * (value(4, 0) - 0.5) as f32),
            weight: aggregation.weight(lengths.len(), tokens, len),
            log_prob,
        }
    };
    lengths.iter().enumerate().map(sample).collect()
}

fn rule(ratio: RatioLevel) -> LossRule {
    LossRule { ratio, old: OldLogProbs::Behaviour, ..Preset::Trl.objective().loss }
}

#[track_caller]
fn check(samples: &[TwinSample], rule: &LossRule) {
    let (value, log_prob, entropy) = ours(samples, rule);
    let expected = twin::loss(samples, rule);
    assert!((value - expected).abs() < 2e-5, "{value} {expected} {rule:?}");
    for (t, (a, b)) in log_prob.iter().zip(twin::gradient(samples, rule)).enumerate() {
        let tolerance = 1e-5 + 1e-4 * b.abs();
        assert!((f64::from(*a) - b).abs() < tolerance, "{t}: {a} {b} {rule:?}");
    }
    let weights = samples.iter().flat_map(|s| vec![s.weight; s.log_prob.len()]);
    for (a, weight) in entropy.iter().zip(weights) {
        assert!((f64::from(*a) + rule.entropy * weight).abs() < 1e-6);
    }
}

#[test]
fn every_ratio_aggregation_and_term_equals_its_twin() {
    let aggregations =
        [Aggregation::SequenceMean, Aggregation::TokenMean, Aggregation::Constant { length: 7 }];
    let kls = [KlEstimator::K1, KlEstimator::K2, KlEstimator::K3];
    let kls = kls.map(|estimator| Some(Kl { estimator, coefficient: 0.3, clamp: None }));
    for seed in 0..4 {
        for aggregation in aggregations {
            let samples = samples(seed, &[3, 1, 6, 2], aggregation);
            for ratio in RATIOS {
                for kl in [None].into_iter().chain(kls) {
                    for (entropy, dual) in [(0.0, None), (0.1, Some(1.3))] {
                        let base = rule(ratio);
                        let clip = Clip { high: 0.28, dual, ..base.clip };
                        check(&samples, &LossRule { aggregation, kl, entropy, clip, ..base });
                    }
                }
            }
        }
    }
}

#[test]
fn a_clamped_kl_has_no_gradient_beyond_its_bound() {
    let mut samples = samples(1, &[4], Aggregation::TokenMean);
    samples[0].advantage = 0.0;
    samples[0].reference[2] = samples[0].log_prob[2] + 4.0; // k3 = e^4 - 5
    let kl = Some(Kl { estimator: KlEstimator::K3, coefficient: 1.0, clamp: Some(10.0) });
    let rule = LossRule { kl, ..rule(RatioLevel::Token) };
    check(&samples, &rule);
    assert_eq!(ours(&samples, &rule).1[2], 0.0);
}

/// One sample at ratio 1 with `beta * KL = 0.005`: the term of the paper's fourth output.
#[test]
fn the_worked_examples_fourth_term() {
    // k3(d) = 0.05, by Newton's method; beta = 0.1.
    let mut d: f64 = 0.3;
    for _ in 0..50 {
        d -= ((-d).exp() - 1.0 + d - 0.05) / (1.0 - (-d).exp());
    }
    let objective = Preset::SweRl.objective();
    let rewards = [0.87, 0.32, -1.0, 0.95].map(Some);
    let from_rewards = advantages(&rewards, &objective.advantage).values[3];
    for (advantage, term) in [(0.85, 0.845), (from_rewards, 0.84699)] {
        let sample = TwinSample {
            log_prob: vec![-1.0, -0.5],
            entropy: vec![0.0; 2],
            old: vec![-1.0, -0.5],
            reference: vec![-1.0 - d, -0.5 - d],
            advantage,
            weight: Aggregation::SequenceMean.weight(1, 2, 2),
        };
        let rule = LossRule {
            kl: objective.loss.kl.map(|kl| Kl { coefficient: 0.1, ..kl }),
            ..objective.loss
        };
        let (value, _, _) = ours(&[sample], &rule);
        assert!((value + term).abs() < 6e-6, "{value} {term}");
    }
}

#[test]
fn at_the_sampling_policy_the_ratio_is_exactly_one() {
    // loss = -sum w A and gradient = -w A, to the bit: exp(0) = 1.
    for ratio in RATIOS {
        let mut one = samples(9, &[4], Aggregation::SequenceMean);
        one[0].advantage = 0.75;
        one[0].weight = 0.25;
        let current = LossRule { old: OldLogProbs::Current, ..rule(ratio) };
        let (value, gradient, _) = ours(&one, &current);
        assert_eq!(value, -0.75);
        let slope = match ratio {
            RatioLevel::Token | RatioLevel::SequenceMean => -0.1875,
            RatioLevel::Sequence => -0.75,
        };
        assert_eq!(gradient, [slope; 4]);
    }
}

#[test]
fn gradients_vanish_where_the_clip_is_active() {
    // (log-ratio, advantage, whether a gradient is left)
    let table = [
        (0.5, 1.0, false),
        (0.5, -1.0, true),
        (-0.5, 1.0, true),
        (-0.5, -1.0, false),
        (0.1, 1.0, true),
        (-0.1, -1.0, true),
    ];
    for (log_ratio, advantage, left) in table {
        let sample = TwinSample {
            log_prob: vec![-1.0],
            entropy: vec![0.0],
            old: vec![-1.0 - log_ratio],
            reference: vec![-1.0],
            advantage,
            weight: 1.0,
        };
        let (_, gradient, _) = ours(&[sample], &rule(RatioLevel::Token));
        assert_eq!(gradient[0] != 0.0, left, "{log_ratio} {advantage}");
    }
}

#[test]
fn a_sequence_ratio_explodes_with_length_and_its_mean_does_not() {
    let len = 4000;
    let mut sample = samples(2, &[len], Aggregation::SequenceMean).remove(0);
    sample.old = sample.log_prob.iter().map(|value| value - 0.001).collect();
    sample.advantage = -1.0;
    let value = |ratio| ours(std::slice::from_ref(&sample), &rule(ratio)).0;
    assert!((value(RatioLevel::Sequence) - 54.6).abs() < 0.1);
    assert!((value(RatioLevel::SequenceMean) - 1.001).abs() < 1e-4);
    // Far beyond f32's range of exp it stays finite.
    sample.old = sample.log_prob.iter().map(|value| value - 1.0).collect();
    let (value, gradient, _) = ours(std::slice::from_ref(&sample), &rule(RatioLevel::Sequence));
    assert!(value.is_finite());
    assert!(gradient.iter().all(|slope| *slope == 0.0));
}

#[test]
fn presets_differ_from_each_other_in_value_or_gradient() {
    let lengths = [3, 5, 2];
    let rewards = [Some(1.0), Some(0.25), Some(-1.0)];
    let presets =
        [Preset::SweRl, Preset::Trl, Preset::Verl, Preset::Dapo, Preset::DrGrpo { length: 8 }];
    let outcomes = presets.map(|preset| {
        let objective = preset.objective();
        objective.validate().unwrap();
        let rule = LossRule { old: OldLogProbs::Behaviour, ..objective.loss };
        let advantages = advantages(&rewards, &objective.advantage).values;
        let mut samples = samples(5, &lengths, rule.aggregation);
        for (sample, advantage) in samples.iter_mut().zip(advantages) {
            sample.advantage = advantage;
        }
        samples[2].old[0] = samples[2].log_prob[0] - 1.5; // dual clip's region
        samples[0].old[1] = samples[0].log_prob[1] - 0.24; // between 0.2 and 0.28
        ours(&samples, &rule)
    });
    for a in 0..outcomes.len() {
        for b in 0..a {
            assert_ne!(outcomes[a], outcomes[b], "{:?} {:?}", presets[a], presets[b]);
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 48,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn a_batch_is_the_sum_of_its_samples(
        seed in 0_u64..1000, lengths in prop::collection::vec(1_usize..7, 2..6), level in 0_usize..3,
    ) {
        let rule = rule(RATIOS[level]);
        let samples = samples(seed, &lengths, Aggregation::TokenMean);
        let (whole, gradient, _) = ours(&samples, &rule);
        let mut sum = 0.0;
        let mut parts = Vec::new();
        for sample in &samples {
            let (value, part, _) = ours(std::slice::from_ref(sample), &rule);
            sum += value;
            parts.extend(part);
        }
        prop_assert!((whole - sum).abs() < 1e-5);
        for (a, b) in gradient.iter().zip(&parts) {
            prop_assert!((a - b).abs() <= 1e-6 + 1e-5 * b.abs(), "{} {}", a, b);
        }
    }

    #[test]
    fn k3_is_never_negative_and_zero_at_the_reference(seed in 0_u64..1000, len in 1_usize..9) {
        let kl = Kl { estimator: KlEstimator::K3, coefficient: 1.0, clamp: None };
        let rule = LossRule { kl: Some(kl), ..rule(RatioLevel::Token) };
        let mut one = samples(seed, &[len], Aggregation::TokenMean);
        one[0].advantage = 0.0;
        prop_assert!(ours(&one, &rule).0 >= -1e-7);
        one[0].reference = one[0].log_prob.clone();
        let (value, gradient, _) = ours(&one, &rule);
        prop_assert_eq!(value, 0.0);
        prop_assert!(gradient.iter().all(|slope| *slope == 0.0));
    }
}
