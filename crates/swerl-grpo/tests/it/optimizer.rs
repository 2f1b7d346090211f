//! Global-norm clipping, AdamW against its twin, decay on matrices only, learning rates.

use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use swerl_grpo::optimizer::{DecayOn, UpdateOn, clip_global_norm, global_norm};
use swerl_grpo::{Decay, OptimizerRule, Schedule};

use crate::support::{TinyPolicy, assert_close, noise};

/// Gradients for every parameter, in the order of the weights.
fn gradients(policy: &TinyPolicy, seed: u64) -> GradientsParams {
    let mut gradients = GradientsParams::new();
    let device = policy.embed.val().device().inner();
    let mut place = 0;
    let mut values = |count: usize| -> Vec<f32> {
        place += count as u64;
        (0..count as u64).map(|i| noise(&[seed, place, i]) as f32 - 0.5).collect()
    };
    for matrix in [&policy.embed, &policy.head] {
        let dims = matrix.val().dims();
        let data = TensorData::new(values(dims[0] * dims[1]), dims);
        gradients.register(matrix.id, Tensor::<2>::from_data(data, &device));
    }
    let dims = policy.bias.val().dims();
    let data = TensorData::new(values(dims[0]), dims);
    gradients.register(policy.bias.id, Tensor::<1>::from_data(data, &device));
    gradients
}

fn host(policy: &TinyPolicy, gradients: &GradientsParams) -> Vec<f32> {
    let mut all = Vec::new();
    for matrix in [&policy.embed, &policy.head] {
        let gradient = gradients.get::<2>(matrix.id).unwrap();
        all.extend(gradient.into_data().try_into_vec::<f32>().unwrap());
    }
    let gradient = gradients.get::<1>(policy.bias.id).unwrap();
    all.extend(gradient.into_data().try_into_vec::<f32>().unwrap());
    all
}

#[test]
fn the_norm_is_that_of_all_gradients_together() {
    let policy = TinyPolicy::new(1);
    let mut clipped = gradients(&policy, 4);
    let before = host(&policy, &clipped);
    let twin = before.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
    let norm = global_norm(&policy, &clipped).unwrap();
    assert!((norm - twin).abs() < 1e-6 * twin);

    assert_eq!(clip_global_norm(&policy, &mut clipped, twin * 2.0).unwrap(), norm);
    assert_eq!(host(&policy, &clipped), before);
    assert_eq!(clip_global_norm(&policy, &mut clipped, 0.5).unwrap(), norm);
    let scaled: Vec<f32> = before.iter().map(|&g| (f64::from(g) * 0.5 / twin) as f32).collect();
    assert_close(&host(&policy, &clipped), &scaled, 1e-7);
    assert!((global_norm(&policy, &clipped).unwrap() - 0.5).abs() < 1e-6);
    assert_eq!(global_norm(&policy, &GradientsParams::new()).unwrap(), 0.0);
}

#[test]
fn a_norm_that_is_no_number_is_returned_and_leaves_the_gradients() {
    let policy = TinyPolicy::new(1);
    let mut broken = gradients(&policy, 4);
    let device = policy.bias.val().device().inner();
    let mut values = vec![1.0_f32; 11];
    values[3] = f32::NAN;
    broken.register(policy.bias.id, Tensor::<1>::from_data(TensorData::new(values, [11]), &device));
    let before = host(&policy, &broken);
    assert!(clip_global_norm(&policy, &mut broken, 0.5).unwrap().is_nan());
    assert_eq!(host(&policy, &broken)[0], before[0]);
}

/// Two AdamW steps of one weight, in f64.
fn adamw_twin(
    weight: f64,
    gradients: [f64; 2],
    rate: f64,
    rule: &OptimizerRule,
    decay: f64,
) -> f64 {
    let (mut w, mut m, mut v) = (weight, 0.0, 0.0);
    for (t, g) in gradients.into_iter().enumerate() {
        m = rule.beta1 * m + (1.0 - rule.beta1) * g;
        v = rule.beta2 * v + (1.0 - rule.beta2) * g * g;
        let m_hat = m / (1.0 - rule.beta1.powi(t as i32 + 1));
        let v_hat = v / (1.0 - rule.beta2.powi(t as i32 + 1));
        w = w * (1.0 - rate * decay) - rate * m_hat / (v_hat.sqrt() + rule.eps);
    }
    w
}

#[test]
fn two_steps_equal_the_twin_and_decay_spares_vectors() {
    for (decay_on, decays_bias) in [(DecayOn::Matrices, false), (DecayOn::All, true)] {
        let rule = OptimizerRule {
            beta2: 0.95,
            weight_decay: 0.3,
            decay_on,
            max_grad_norm: None,
            ..OptimizerRule::default()
        };
        rule.validate().unwrap();
        let mut policy = TinyPolicy::new(1);
        let before = policy.weights();
        let mut optimizer = rule.build(&policy);
        let seeds = [4, 5];
        let slopes = seeds.map(|seed| host(&policy, &gradients(&policy, seed)));
        for seed in seeds {
            let gradients = gradients(&policy, seed);
            policy = optimizer.step(0.01, policy, gradients);
        }
        let after = policy.weights();
        // The position table, without a gradient, is left alone: 88 to 343 of the flat weights.
        assert_eq!(before[88..344], after[88..344]);
        let weights: Vec<usize> = (0..88).chain(344..before.len()).collect();
        for (slope, &weight) in weights.iter().enumerate() {
            let is_bias = weight >= before.len() - 11;
            let decay = if is_bias && !decays_bias { 0.0 } else { 0.3 };
            let slopes = [slopes[0][slope], slopes[1][slope]].map(f64::from);
            let twin = adamw_twin(f64::from(before[weight]), slopes, 0.01, &rule, decay);
            assert!((f64::from(after[weight]) - twin).abs() < 2e-6, "{weight}");
        }
    }
}

#[test]
fn an_update_on_the_host_gives_the_same_bits() {
    for (weight_decay, decay_on) in
        [(0.0, DecayOn::All), (0.3, DecayOn::All), (0.3, DecayOn::Matrices)]
    {
        let rule = OptimizerRule { weight_decay, decay_on, ..OptimizerRule::default() };
        let start = TinyPolicy::new(1);
        // Each half of the steps by either, the state handed over between.
        let after = |halves: [UpdateOn; 2]| {
            let mut policy = start.clone();
            let mut record = None;
            for (half, update_on) in halves.into_iter().enumerate() {
                let mut optimizer = OptimizerRule { update_on, ..rule }.build(&policy);
                if let Some(record) = record.take() {
                    optimizer = optimizer.load_record(record);
                }
                for seed in 0..3 {
                    let gradients = gradients(&policy, 3 * half as u64 + seed);
                    policy = optimizer.step(0.01, policy, gradients);
                }
                record = Some(optimizer.to_record());
            }
            policy.weights()
        };
        let (device, host) = (UpdateOn::Device, UpdateOn::Host);
        let plain = after([device, device]);
        for halves in [[host, host], [device, host], [host, device]] {
            for (i, (a, b)) in plain.iter().zip(&after(halves)).enumerate() {
                assert_eq!(a.to_bits(), b.to_bits(), "weight {i}: {a} and {b}, {halves:?}");
            }
        }
    }
}

#[test]
fn learning_rates() {
    let rates =
        |schedule: &Schedule, steps: u64| (0..steps).map(|s| schedule.rate(s)).collect::<Vec<_>>();
    let mut schedule = Schedule::constant(2.0);
    assert_eq!(rates(&schedule, 3), [2.0, 2.0, 2.0]);
    schedule.warmup_steps = 4;
    assert_eq!(rates(&schedule, 6), [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]);
    schedule.decay = Decay::Linear { total_steps: 8, floor: 0.25 };
    assert_eq!(rates(&schedule, 10)[4..], [2.0, 1.5, 1.0, 0.5, 0.5, 0.5]);
    schedule.validate().unwrap();
    schedule.warmup_steps = 8;
    let error = schedule.validate().unwrap_err().to_string();
    assert!(error.contains("schedule.decay.total_steps = 8: it must be more than warmup_steps"));
}
