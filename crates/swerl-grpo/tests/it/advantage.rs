//! Advantages: published vectors, the paper's worked example, and laws.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use swerl_grpo::advantage::{
    AdvantageRule, Baseline, Scale, advantages, batch_advantages, has_spread,
};
use swerl_grpo::{Preset, group_advantages};

const EXACT: f64 = 0.0;

fn rule(baseline: Baseline, scale: Scale, tolerance: f64) -> AdvantageRule {
    AdvantageRule { baseline, scale, tolerance }
}

fn std(ddof: u8, eps: f64) -> Scale {
    Scale::Std { ddof, eps }
}

fn of(rewards: &[f64], rule: &AdvantageRule) -> Vec<f64> {
    let rewards: Vec<Option<f64>> = rewards.iter().copied().map(Some).collect();
    advantages(&rewards, rule).values
}

#[track_caller]
fn check(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance, "{found:?} is not {expected:?}");
    }
}

/// The conventions of the vectors' columns.
fn conventions() -> [AdvantageRule; 6] {
    [
        rule(Baseline::Mean, std(1, 1e-4), EXACT),
        rule(Baseline::Mean, std(1, 1e-6), EXACT),
        rule(Baseline::Mean, std(1, 1e-9), EXACT),
        rule(Baseline::Mean, std(0, 1e-6), EXACT),
        rule(Baseline::Mean, Scale::None, EXACT),
        rule(Baseline::LeaveOneOut, std(1, 1e-6), EXACT),
    ]
}

#[test]
fn conventions_give_their_vectors() {
    let table = [
        (
            [1.0, 0.0, 0.0, 0.0],
            [1.4997, 1.499_997, 1.5, 1.732_047, 0.75, 1.0],
            [-0.4999, -0.499_999, -0.5, -0.577_349, -0.25, -0.577_349],
        ),
        (
            [0.0, 1.0, 1.0, 1.0],
            [-1.4997, -1.499_997, -1.5, -1.732_047, -0.75, -1.0],
            [0.4999, 0.499_999, 0.5, 0.577_349, 0.25, 0.577_349],
        ),
        (
            [0.62, 0.62, -1.0, -1.0],
            [0.865_933, 0.866_024, 0.866_025, 0.999_999, 0.81, 1.154_699],
            [0.865_933, 0.866_024, 0.866_025, 0.999_999, 0.81, 1.154_699],
        ),
    ];
    for (rewards, first, second) in table {
        for (column, rule) in conventions().iter().enumerate() {
            let found = of(&rewards, rule);
            let digits = if column == 0 { 5.1e-5 } else { 1.1e-6 };
            check(&found[..2], &[first[column], second[column]], digits);
        }
    }
}

#[test]
fn an_almost_equal_group_is_blown_up_without_a_tolerance_and_zero_with_one() {
    let rewards = [0.3, 0.3 + 1e-7, 0.3, 0.3];
    let expected = [0.00075, 0.071, 1.4706, 0.0719, 7.5e-8, 1e-7];
    for (rule, expected) in conventions().iter().zip(expected) {
        let found = of(&rewards, rule)[1];
        assert!((found - expected).abs() <= 0.01 * expected, "{found} {expected}");
        let tolerant = AdvantageRule { tolerance: 1e-6, ..*rule };
        assert_eq!(of(&rewards, &tolerant), [0.0; 4]);
    }
}

#[test]
fn the_papers_worked_example() {
    let found = of(&[0.87, 0.32, -1.0, 0.95], &Preset::SweRl.objective().advantage);
    check(&found, &[0.7495, 0.0448, -1.6463, 0.8520], 5e-5);
    let rounded: Vec<f64> = found.iter().map(|a| (a * 100.0).round() / 100.0).collect();
    assert_eq!(rounded, [0.75, 0.04, -1.65, 0.85]);
}

#[test]
fn members_without_a_reward_take_no_part() {
    let rule = rule(Baseline::Mean, std(1, 1e-4), 1e-6);
    let with = advantages(&[Some(1.0), None, Some(0.0), Some(0.0), Some(0.0)], &rule);
    let without = of(&[1.0, 0.0, 0.0, 0.0], &rule);
    assert_eq!(with.scored, 4);
    assert_eq!(with.values[1], 0.0);
    assert_eq!([with.values[0], with.values[2]], [without[0], without[1]]);
    for rewards in [&[None, None][..], &[Some(3.0), None], &[Some(3.0)]] {
        for baseline in [Baseline::Mean, Baseline::LeaveOneOut] {
            let rule = AdvantageRule { baseline, ..rule };
            let found = advantages(rewards, &rule);
            assert!(found.no_spread);
            assert!(found.values.iter().all(|&value| value == 0.0));
        }
    }
    let pair = AdvantageRule { baseline: Baseline::LeaveOneOut, ..rule };
    assert_eq!(of(&[1.0, 0.0], &pair), [1.0, -1.0]);
    assert!(group_advantages(&[], &rule).is_empty());
}

#[test]
fn the_batchs_std_leaves_an_almost_equal_group_small_and_needs_no_second_group() {
    let batch = rule(Baseline::Mean, Scale::BatchStd { ddof: 1, eps: 1e-4 }, EXACT);
    let groups = [[Some(1.0), Some(0.0)], [Some(0.3), Some(0.3 + 1e-5)]];
    let found = batch_advantages(&groups, &batch);
    // The four rewards deviate by 0.6, -0.4, -0.1, -0.1 from their mean: variance 0.54 / 3.
    check(
        &found[0].values,
        &[0.5 / (0.18_f64.sqrt() + 1e-4), -0.5 / (0.18_f64.sqrt() + 1e-4)],
        1e-5,
    );
    assert!(found[1].values[1] < 2e-5 && found[1].values[1] > 0.0);
    let own = rule(Baseline::Mean, std(1, 1e-4), EXACT);
    assert!(batch_advantages(&groups, &own)[1].values[1] > 0.04);
    // One group alone is its own batch; unjudged members count nowhere.
    assert_eq!(of(&[0.2, 0.9, 0.4], &batch), of(&[0.2, 0.9, 0.4], &own));
    let with = batch_advantages(&[&groups[0][..], &[None], &[None, Some(0.3)]], &batch);
    assert_eq!((with[1].scored, with[2].scored, with[2].no_spread), (0, 1, true));
}

#[test]
fn dynamic_sampling_keeps_the_groups_that_have_advantages() {
    for rewards in [
        vec![],
        vec![Some(1.0)],
        vec![Some(1.0), None],
        vec![Some(0.3), Some(0.3 + 1e-7)],
        vec![Some(0.3), None, Some(0.4)],
    ] {
        let found = advantages(&rewards, &Preset::Dapo.objective().advantage);
        assert_eq!(has_spread(&rewards, 1e-6), !found.no_spread);
        assert_eq!(found.no_spread, found.values.iter().all(|&value| value == 0.0));
    }
}

#[test]
#[should_panic(expected = "rewards are finite")]
fn a_reward_that_is_no_number_is_refused() {
    let _ = of(&[1.0, f64::NAN], &rule(Baseline::Mean, Scale::None, 0.0));
}

fn rules() -> impl Strategy<Value = AdvantageRule> {
    let baseline = prop_oneof![Just(Baseline::Mean), Just(Baseline::LeaveOneOut)];
    let scale = prop_oneof![
        Just(Scale::None),
        (0_u8..2, prop_oneof![Just(0.0), Just(1e-6), Just(1e-4)], any::<bool>()).prop_map(
            |(ddof, eps, batch)| if batch { Scale::BatchStd { ddof, eps } } else { std(ddof, eps) },
        ),
    ];
    (baseline, scale).prop_map(|(baseline, scale)| rule(baseline, scale, 1e-6))
}

fn groups() -> impl Strategy<Value = Vec<f64>> {
    // Hundredths: ranges are 0 or well above the tolerance.
    prop::collection::vec((-100_i32..=100).prop_map(|n| f64::from(n) / 100.0), 2..17)
}

fn laws() -> Config {
    Config {
        cases: 256,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(laws())]

    #[test]
    fn reversing_the_group_reverses_the_advantages(rewards in groups(), rule in rules()) {
        let mut backwards = rewards.clone();
        backwards.reverse();
        let mut found = of(&backwards, &rule);
        found.reverse();
        check(&found, &of(&rewards, &rule), 1e-9);
    }

    #[test]
    fn adding_a_constant_changes_nothing(rewards in groups(), rule in rules(), by in -5.0..5.0) {
        let shifted: Vec<f64> = rewards.iter().map(|reward| reward + by).collect();
        check(&of(&shifted, &rule), &of(&rewards, &rule), 1e-7);
    }

    #[test]
    fn scaling_changes_nothing_when_divided_by_a_bare_std(
        rewards in groups(), ddof in 0_u8..2, by in 0.1..10.0,
    ) {
        let rule = rule(Baseline::Mean, std(ddof, 0.0), 1e-6);
        let scaled: Vec<f64> = rewards.iter().map(|reward| reward * by).collect();
        check(&of(&scaled, &rule), &of(&rewards, &rule), 1e-7);
    }

    #[test]
    fn advantages_about_the_mean_sum_to_zero(rewards in groups(), scale in rules()) {
        let rule = AdvantageRule { baseline: Baseline::Mean, ..scale };
        prop_assert!(of(&rewards, &rule).iter().sum::<f64>().abs() < 1e-9);
    }

    #[test]
    fn equal_rewards_give_zeros(reward in -1.0..1.0, count in 1_usize..17, rule in rules()) {
        prop_assert_eq!(of(&vec![reward; count], &rule), vec![0.0; count]);
    }

    #[test]
    fn bounds(rewards in groups(), ddof in 0_u8..2) {
        // |A| <= (n - 1) / sqrt(n) with the sample's std, sqrt(n - 1) with the population's.
        let n = rewards.len() as f64;
        let most = if ddof == 1 { (n - 1.0) / n.sqrt() } else { (n - 1.0).sqrt() };
        let rule = rule(Baseline::Mean, std(ddof, 0.0), 1e-6);
        for advantage in of(&rewards, &rule) {
            prop_assert!(advantage.abs() <= most + 1e-9);
        }
    }

    #[test]
    fn order_is_kept(rewards in groups(), scale in rules()) {
        let rule = AdvantageRule { baseline: Baseline::Mean, ..scale };
        let found = of(&rewards, &rule);
        for i in 0..rewards.len() {
            for j in 0..rewards.len() {
                prop_assert!(rewards[i] < rewards[j] || found[i] >= found[j]);
            }
        }
    }
}
