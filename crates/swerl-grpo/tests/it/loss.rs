//! Losses on tensors against their f64 twins, the worked example, and where gradients vanish.

use swerl_grpo::loss::{
    Aggregation, CispoBound, Clip, Kl, KlEstimator, KlPlacement, LossRule, OldLogProbs,
    ProbabilityMask, RatioLevel, Surrogate, TruncatedImportance,
};
use swerl_grpo::{Preset, advantages};

use crate::ours::{base, check, ours, samples};
use crate::twin::TwinSample;

const RATIOS: [RatioLevel; 3] = [RatioLevel::Token, RatioLevel::Sequence, RatioLevel::SequenceMean];

fn rule(ratio: RatioLevel) -> LossRule {
    LossRule { ratio, ..base() }
}

fn kl(estimator: KlEstimator, coefficient: f64, clamp: Option<f64>) -> Kl {
    Kl { estimator, placement: KlPlacement::Loss, coefficient, clamp }
}

#[test]
fn every_ratio_aggregation_and_term_equals_its_twin() {
    let aggregations =
        [Aggregation::SequenceMean, Aggregation::TokenMean, Aggregation::Constant { length: 7 }];
    let kls = [KlEstimator::K1, KlEstimator::K2, KlEstimator::K3];
    let kls = kls.map(|estimator| Some(kl(estimator, 0.3, None)));
    for seed in 0..4 {
        for aggregation in aggregations {
            let samples = samples(seed, &[3, 1, 6, 2], aggregation);
            for ratio in RATIOS {
                for kl in [None].into_iter().chain(kls) {
                    for (entropy, dual) in [(0.0, None), (0.1, Some(1.3))] {
                        let surrogate = Surrogate::Clip(Clip { low: 0.2, high: 0.28, dual });
                        let base = rule(ratio);
                        check(&samples, &LossRule { aggregation, kl, entropy, surrogate, ..base });
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
    let kl = Some(kl(KlEstimator::K3, 1.0, Some(10.0)));
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
            behaviour: vec![-1.0, -0.5],
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
            behaviour: vec![-1.0 - log_ratio],
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
    sample.behaviour = sample.log_prob.iter().map(|value| value - 0.001).collect();
    sample.advantage = -1.0;
    let value = |ratio| ours(std::slice::from_ref(&sample), &rule(ratio)).0;
    assert!((value(RatioLevel::Sequence) - 54.6).abs() < 0.1);
    assert!((value(RatioLevel::SequenceMean) - 1.001).abs() < 1e-4);
    // Far beyond f32's range of exp it stays finite.
    sample.behaviour = sample.log_prob.iter().map(|value| value - 1.0).collect();
    let (value, gradient, _) = ours(std::slice::from_ref(&sample), &rule(RatioLevel::Sequence));
    assert!(value.is_finite());
    assert!(gradient.iter().all(|slope| *slope == 0.0));
}

/// One token of ratio `exp(log_ratio)`.
fn token(log_prob: f64, log_ratio: f64, advantage: f64) -> TwinSample {
    TwinSample {
        log_prob: vec![log_prob],
        entropy: vec![0.0],
        behaviour: vec![log_prob - log_ratio],
        reference: vec![log_prob],
        advantage,
        weight: 1.0,
    }
}

#[test]
fn a_mask_drops_what_moved_too_far_in_the_advantages_direction() {
    let surrogate = Surrogate::Mask(ProbabilityMask { low: 0.2, high: 0.3 });
    let rule = LossRule { surrogate, ..base() };
    // (probability now, before, advantage, whether it is kept)
    let table = [
        (0.9, 0.5, 1.0, false),
        (0.9, 0.5, -1.0, true),
        (0.75, 0.5, 1.0, true),
        (0.25, 0.5, -1.0, false),
        (0.25, 0.5, 1.0, true),
        (0.35, 0.5, -1.0, true),
        // A ratio of 50 is no reason: the probability hardly moved.
        (0.1, 0.002, 1.0, true),
    ];
    for (now, before, advantage, kept) in table {
        let (now, before): (f64, f64) = (now, before);
        let one = token(now.ln(), (now / before).ln(), advantage);
        let (value, gradient, _) = ours(std::slice::from_ref(&one), &rule);
        assert_eq!((value != 0.0, gradient[0] != 0.0), (kept, kept), "{now} {before} {advantage}");
        check(&[one], &rule);
    }
}

#[test]
fn cispo_keeps_a_gradient_at_every_ratio_and_its_bounds_mean_what_they_say() {
    // The gradient is minus the bounded weight for advantage 1.
    let relative = |low, high| CispoBound::Relative { low, high };
    let absolute = |cap| CispoBound::Absolute { cap };
    let table = [
        (1.5, relative(1.0, 0.28), 1.28),
        (1.5, absolute(1.28), 1.28),
        (1.5, absolute(0.28), 0.28),
        (1.5, relative(1.0, 5.0), 1.5_f64.exp()),
        (-1.5, relative(0.2, 0.28), 0.8),
        (-1.5, relative(1.0, 0.28), (-1.5_f64).exp()),
        (-1.5, absolute(5.0), (-1.5_f64).exp()),
    ];
    for (log_ratio, bound, weight) in table {
        let rule = LossRule { surrogate: Surrogate::Cispo(bound), ..base() };
        for advantage in [1.0, -1.0] {
            let one = token(-1.0, log_ratio, advantage);
            let gradient = f64::from(ours(&[one], &rule).1[0]);
            assert!((gradient + weight * advantage).abs() < 1e-5, "{gradient} {bound:?}");
        }
    }
}

#[test]
fn a_straight_through_kl_has_the_estimators_value_and_the_gradient_of_k2() {
    let samples = samples(4, &[4, 2], Aggregation::TokenMean);
    let of = |estimator, placement, clamp| {
        let kl = Some(Kl { estimator, placement, coefficient: 0.5, clamp });
        ours(&samples, &LossRule { kl, ..base() })
    };
    let slopes = of(KlEstimator::K2, KlPlacement::Loss, None).1;
    for estimator in [KlEstimator::K1, KlEstimator::K2, KlEstimator::K3] {
        for clamp in [None, Some(0.1)] {
            let plain = of(estimator, KlPlacement::Loss, clamp);
            let through = of(estimator, KlPlacement::LossStraightThrough, clamp);
            assert_eq!(through.0, plain.0);
            for (a, b) in through.1.iter().zip(&slopes) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }
}

#[test]
fn kl_in_the_reward_takes_from_each_token_what_is_still_to_come() {
    // d = 0.5, 0.25, -1 at ratio 1: the advantages lose 0.1 * (-0.25, -0.75, -1).
    let sample = TwinSample {
        log_prob: vec![-1.0, -2.0, -1.5],
        entropy: vec![0.0; 3],
        behaviour: vec![-1.0, -2.0, -1.5],
        reference: vec![-1.5, -2.25, -0.5],
        advantage: 1.0,
        weight: 1.0,
    };
    let kl = Kl { placement: KlPlacement::Reward, ..kl(KlEstimator::K1, 0.1, None) };
    let rule = LossRule { kl: Some(kl), old: OldLogProbs::Current, ..base() };
    let (value, gradient, _) = ours(&[sample], &rule);
    assert!((value + 3.2).abs() < 1e-6, "{value}");
    for (found, expected) in gradient.iter().zip([-1.025, -1.075, -1.1]) {
        assert!((found - expected).abs() < 1e-6, "{gradient:?}");
    }
}

#[test]
fn an_importance_weight_is_bounded_and_nothing_where_sampler_and_trainer_agree() {
    let mut pair = samples(6, &[3, 2], Aggregation::TokenMean);
    let plain = LossRule { old: OldLogProbs::Current, ..base() };
    let weighted = |level, cap| {
        let truncated_importance = Some(TruncatedImportance { level, cap });
        LossRule { truncated_importance, ..plain }
    };
    for level in RATIOS {
        check(&pair, &weighted(level, 1.1));
    }
    // Beyond the bound: minus weight * A * cap at each token.
    for sample in &mut pair {
        sample.behaviour = sample.log_prob.iter().map(|value| value - 3.0).collect();
    }
    let (_, gradient, _) = ours(&pair, &weighted(RatioLevel::Token, 2.0));
    let expected = ours(&pair, &plain).1;
    for (a, b) in gradient.iter().zip(&expected) {
        assert!((a - 2.0 * b).abs() < 1e-6);
    }
    for sample in &mut pair {
        sample.behaviour = sample.log_prob.clone();
    }
    for level in RATIOS {
        assert_eq!(ours(&pair, &weighted(level, 2.0)), ours(&pair, &plain));
    }
}
