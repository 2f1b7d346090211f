//! Laws of every loss that can be configured, over drawn rules and drawn samples.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use swerl_grpo::loss::{
    Aggregation, CispoBound, Clip, Kl, KlEstimator, KlPlacement, LossRule, OldLogProbs,
    ProbabilityMask, RatioLevel, Surrogate, TruncatedImportance,
};

use crate::ours::{check, ours, samples};
use crate::twin::TwinSample;

fn estimators() -> impl Strategy<Value = KlEstimator> {
    prop_oneof![Just(KlEstimator::K1), Just(KlEstimator::K2), Just(KlEstimator::K3)]
}

fn levels() -> impl Strategy<Value = RatioLevel> {
    prop_oneof![Just(RatioLevel::Token), Just(RatioLevel::Sequence), Just(RatioLevel::SequenceMean)]
}

fn surrogates() -> impl Strategy<Value = Surrogate> {
    prop_oneof![
        (0.05..0.5, 0.05..0.5, prop::option::of(1.2..3.0))
            .prop_map(|(low, high, dual)| Surrogate::Clip(Clip { low, high, dual })),
        (0.0..1.0, 0.0..2.0)
            .prop_map(|(low, high)| Surrogate::Cispo(CispoBound::Relative { low, high })),
        (0.5..3.0).prop_map(|cap| Surrogate::Cispo(CispoBound::Absolute { cap })),
        (0.01..0.3, 0.01..0.3)
            .prop_map(|(low, high)| Surrogate::Mask(ProbabilityMask { low, high })),
    ]
}

fn kls() -> impl Strategy<Value = Kl> {
    let placement = prop_oneof![
        Just(KlPlacement::Loss),
        Just(KlPlacement::LossStraightThrough),
        Just(KlPlacement::Reward)
    ];
    let clamp = prop::option::of(0.1..0.6);
    (estimators(), placement, 0.01..1.0, clamp).prop_map(
        |(estimator, placement, coefficient, clamp)| Kl {
            estimator,
            placement,
            coefficient,
            clamp,
        },
    )
}

fn rules() -> impl Strategy<Value = LossRule> {
    let aggregation = prop_oneof![
        Just(Aggregation::SequenceMean),
        Just(Aggregation::TokenMean),
        Just(Aggregation::SequenceSum),
        Just(Aggregation::Constant { length: 7 })
    ];
    let importance = prop::option::of((levels(), 0.8..2.0));
    let extras = (prop_oneof![Just(0.0), 0.01..0.5], importance, prop::option::of(0.01..0.5));
    (levels(), any::<bool>(), surrogates(), aggregation, prop::option::of(kls()), extras).prop_map(
        |(ratio, current, surrogate, aggregation, kl, (entropy, importance, drift))| LossRule {
            ratio,
            old: if current { OldLogProbs::Current } else { OldLogProbs::Behaviour },
            surrogate,
            aggregation,
            kl,
            entropy,
            truncated_importance: importance
                .filter(|_| current)
                .map(|(level, cap)| TruncatedImportance { level, cap }),
            drift,
        },
    )
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..7, 2..6)
}

/// Equal but for the rounding of f32 sums in another order.
fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 2e-6 + 2e-5 * b.abs()
}

fn all_close(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| close(a, b))
}

fn config(cases: u32, seed: u64) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config(256, 11))]

    #[test]
    fn loss_and_gradient_are_the_twins_and_its_finite_differences(
        seed in 0_u64..1000, lengths in lengths(), rule in rules(),
    ) {
        rule.validate().unwrap();
        check(&samples(seed, &lengths, rule.aggregation), &rule);
    }
}

proptest! {
    #![proptest_config(config(96, 5))]

    #[test]
    fn a_batch_is_the_sum_of_its_samples(
        seed in 0_u64..1000, lengths in lengths(), rule in rules(),
    ) {
        let samples = samples(seed, &lengths, rule.aggregation);
        let (whole, gradient, entropy) = ours(&samples, &rule);
        let mut sum = 0.0;
        let (mut parts, mut entropies) = (Vec::new(), Vec::new());
        for sample in &samples {
            let (value, part, of_entropy) = ours(std::slice::from_ref(sample), &rule);
            sum += value;
            parts.extend(part);
            entropies.extend(of_entropy);
        }
        prop_assert!((whole - sum).abs() < 2e-5);
        prop_assert!(all_close(&gradient, &parts), "{:?} {:?}", gradient, parts);
        prop_assert!(all_close(&entropy, &entropies));
    }

    /// A much longer neighbour pads every sample's row, a weight of 0 takes it out of the loss.
    #[test]
    fn padding_changes_nothing(
        seed in 0_u64..1000, lengths in lengths(), rule in rules(), first in any::<bool>(),
    ) {
        let alone = samples(seed, &lengths, rule.aggregation);
        let mut long = samples(seed + 1, &[40], rule.aggregation).remove(0);
        long.weight = 0.0;
        let mut padded = alone.clone();
        padded.insert(if first { 0 } else { alone.len() }, long);
        let (value, gradient, _) = ours(&alone, &rule);
        let (padded_value, padded_gradient, _) = ours(&padded, &rule);
        let own = if first { &padded_gradient[40..] } else { &padded_gradient[..gradient.len()] };
        let others = if first { &padded_gradient[..40] } else { &padded_gradient[gradient.len()..] };
        prop_assert!((value - padded_value).abs() < 1e-5);
        prop_assert!(all_close(own, &gradient), "{:?} {:?}", own, gradient);
        prop_assert!(others.iter().all(|&slope| slope == 0.0));
    }

    #[test]
    fn the_order_of_samples_changes_nothing(
        seed in 0_u64..1000, lengths in lengths(), rule in rules(), by in 0_usize..6,
    ) {
        let mut turned = samples(seed, &lengths, rule.aggregation);
        let (value, gradient, _) = ours(&turned, &rule);
        let by = by % turned.len();
        turned.rotate_left(by);
        let (turned_value, mut turned_gradient, _) = ours(&turned, &rule);
        turned_gradient.rotate_right(lengths[..by].iter().sum());
        prop_assert!((value - turned_value).abs() < 1e-5);
        prop_assert!(all_close(&turned_gradient, &gradient));
    }

    /// Without an advantage and a term besides it there is nothing to learn.
    #[test]
    fn advantage_zero_has_no_gradient_unless_the_rule_says_so(
        seed in 0_u64..1000, lengths in lengths(), rule in rules(),
    ) {
        let mut samples = samples(seed, &lengths, rule.aggregation);
        for sample in &mut samples {
            sample.advantage = 0.0;
        }
        let bare = LossRule { kl: None, entropy: 0.0, drift: None, ..rule };
        prop_assert!(!bare.trains_without_advantage());
        let (value, gradient, entropy) = ours(&samples, &bare);
        prop_assert_eq!(value, 0.0);
        prop_assert!(gradient.iter().chain(&entropy).all(|&slope| slope == 0.0));
    }

    /// A clipped token has no gradient, one inside the region has, one on the good side too.
    #[test]
    fn a_token_has_a_gradient_exactly_where_no_bound_acts(
        log_ratio in -2.0..2.0, up in any::<bool>(), log_prob in -3.0..-0.01,
        surrogate in surrogates(),
    ) {
        let ((log_ratio, log_prob), advantage) = ((log_ratio, log_prob), if up { 1.0 } else { -1.0 });
        let (log_ratio, log_prob): (f64, f64) = (log_ratio, log_prob);
        let sample = TwinSample {
            log_prob: vec![log_prob],
            entropy: vec![0.0],
            behaviour: vec![log_prob - log_ratio],
            reference: vec![log_prob],
            advantage,
            weight: 1.0,
        };
        let rule = LossRule { surrogate, ..crate::ours::base() };
        let ratio = log_ratio.exp();
        let moved = log_prob.exp() - (log_prob - log_ratio).exp();
        let (low, high) = surrogate.active(ratio, moved, advantage);
        let dual = match surrogate {
            Surrogate::Clip(Clip { dual: Some(bound), .. }) => !up && ratio > bound,
            _ => false,
        };
        let cut = dual || ((low || high) && !matches!(surrogate, Surrogate::Cispo(_)));
        let gradient = ours(&[sample], &rule).1[0];
        // CISPO's weight may be bounded to 0, where 1 - low is.
        prop_assert_eq!(gradient == 0.0, cut, "{} {:?}", ratio, surrogate);
        if matches!(surrogate, Surrogate::Cispo(_)) {
            prop_assert!(f64::from(gradient) * advantage < 0.0);
        }
    }

    #[test]
    fn k2_and_k3_are_never_negative_and_zero_with_their_gradient_at_the_reference(
        seed in 0_u64..1000, len in 1_usize..9, estimator in estimators(),
    ) {
        let kl = Kl { estimator, placement: KlPlacement::Loss, coefficient: 1.0, clamp: None };
        let rule = LossRule { kl: Some(kl), ..crate::ours::base() };
        let mut one = samples(seed, &[len], Aggregation::TokenMean);
        one[0].advantage = 0.0;
        prop_assert!(estimator == KlEstimator::K1 || ours(&one, &rule).0 >= -1e-7);
        one[0].reference = one[0].log_prob.clone();
        let (value, gradient, _) = ours(&one, &rule);
        prop_assert_eq!(value, 0.0);
        prop_assert!(estimator == KlEstimator::K1 || gradient.iter().all(|&slope| slope == 0.0));
    }

    /// At the sampling policy every clip by token agrees with the plain policy gradient.
    #[test]
    fn on_policy_the_gradient_is_minus_weight_times_advantage(
        seed in 0_u64..1000, lengths in lengths(), surrogate in surrogates(),
    ) {
        let rule = LossRule { surrogate, old: OldLogProbs::Current, ..crate::ours::base() };
        let samples = samples(seed, &lengths, rule.aggregation);
        let bounded = match surrogate {
            Surrogate::Cispo(CispoBound::Absolute { cap }) => cap.min(1.0),
            _ => 1.0,
        };
        let expected = samples.iter().flat_map(|sample| {
            let slope = -bounded * sample.weight * sample.advantage;
            vec![slope as f32; sample.log_prob.len()]
        });
        let expected: Vec<f32> = expected.collect();
        prop_assert!(all_close(&ours(&samples, &rule).1, &expected));
    }
}
