//! Losses and gradients against `tests/golden/losses.json`, which `make_losses.py` beside it made.

use serde::Deserialize;
use swerl_grpo::advantage::batch_advantages;
use swerl_grpo::loss::{LossRule, OldLogProbs};
use swerl_grpo::{Objective, Preset};

use crate::ours::ours;
use crate::twin::{self, TwinSample};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    groups: Vec<Group>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    rewards: Vec<Option<f64>>,
    samples: Vec<Tokens>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    log_prob: Vec<f64>,
    entropy: Vec<f64>,
    behaviour: Vec<f64>,
    reference: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    preset: Option<Preset>,
    objective: Objective,
    advantages: Vec<Vec<f64>>,
    loss: f64,
    log_prob_gradient: Vec<f64>,
    entropy_gradient: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/losses.json")).unwrap()
}

#[track_caller]
fn close(name: &str, found: &[f64], expected: &[f64], relative: f64, absolute: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (index, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= absolute + relative * b.abs(), "{name}, {index}: {a} {b}");
    }
}

/// The judged members, with the case's advantages and the rule's weights.
fn judged(groups: &[Group], advantages: &[Vec<f64>], rule: &LossRule) -> Vec<TwinSample> {
    let members = groups
        .iter()
        .zip(advantages)
        .flat_map(|(group, advantages)| group.samples.iter().zip(advantages).zip(&group.rewards));
    let mut samples: Vec<TwinSample> = members
        .filter(|(_, reward)| reward.is_some())
        .map(|((tokens, &advantage), _)| TwinSample {
            log_prob: tokens.log_prob.clone(),
            entropy: tokens.entropy.clone(),
            behaviour: tokens.behaviour.clone(),
            reference: tokens.reference.clone(),
            advantage,
            weight: 0.0,
        })
        .collect();
    let count = samples.len();
    let tokens = samples.iter().map(|sample| sample.log_prob.len()).sum();
    for sample in &mut samples {
        sample.weight = rule.aggregation.weight(count, tokens, sample.log_prob.len());
    }
    samples
}

#[test]
fn every_recorded_advantage() {
    let golden = golden();
    let rewards: Vec<&[Option<f64>]> = golden.groups.iter().map(|g| &g.rewards[..]).collect();
    for case in &golden.cases {
        let found = batch_advantages(&rewards, &case.objective.advantage);
        assert!(found[1].no_spread);
        for (group, expected) in found.iter().zip(&case.advantages) {
            close(&case.name, &group.values, expected, 1e-11, 1e-11);
        }
    }
}

#[test]
fn every_recorded_loss_and_gradient() {
    let golden = golden();
    assert_eq!(golden.cases.len(), 55);
    for case in &golden.cases {
        case.objective.validate().unwrap();
        let rule = &case.objective.loss;
        let samples = judged(&golden.groups, &case.advantages, rule);
        // The crate, in f32.
        let (loss, log_prob, entropy) = ours(&samples, rule);
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
        close(&case.name, &[loss], &[case.loss], 2e-6, 1e-6);
        close(&case.name, &wide(log_prob), &case.log_prob_gradient, 5e-6, 5e-7);
        close(&case.name, &wide(entropy), &case.entropy_gradient, 1e-6, 1e-9);
        // The twin, in f64.
        close(&case.name, &[twin::loss(&samples, rule)], &[case.loss], 1e-10, 1e-12);
        let differences = twin::gradient(&samples, rule);
        close(&case.name, &differences, &case.log_prob_gradient, 1e-6, 1e-8);
    }
}

#[test]
fn every_preset_is_the_recorded_objective_and_no_two_are_alike() {
    let golden = golden();
    let mut presets: Vec<Preset> = Vec::new();
    let mut off_policy = Vec::new();
    for case in &golden.cases {
        let Some(preset) = case.preset else { continue };
        assert_eq!(preset.objective(), case.objective, "{}", case.name);
        presets.push(preset);
        // On the sampler's log-probs, where clips act, all differ in the recorded outcome.
        let rule = LossRule { old: OldLogProbs::Behaviour, ..case.objective.loss };
        let objective = Objective { loss: rule, ..case.objective };
        let recorded = golden.cases.iter().find(|other| other.objective == objective).unwrap();
        off_policy.push((&case.name, recorded.loss, &recorded.log_prob_gradient));
    }
    assert_eq!(presets.len(), 12); // cispo with both bounds
    for (index, (a, loss, gradient)) in off_policy.iter().enumerate() {
        for (b, other_loss, other_gradient) in &off_policy[..index] {
            let far = |x: f64, y: f64| (x - y).abs() > 1e-7;
            let differ = far(*loss, *other_loss)
                || gradient.iter().zip(other_gradient.iter()).any(|(x, y)| far(*x, *y));
            assert!(differ, "{a} {b}");
        }
    }
}
