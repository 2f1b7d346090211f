//! The crate's loss on the twin's samples, and samples to run both on.

use burn::tensor::{Device, Tensor, TensorData};
use swerl_grpo::loss::{Aggregation, Layout, LossInputs, LossRule, loss_and_upstream};
use swerl_grpo::{Preset, TokenScores};

use crate::support::noise;
use crate::twin::{self, TwinSample};

fn tensor(values: Vec<f32>) -> Tensor<1> {
    let len = values.len();
    Tensor::from_data(TensorData::new(values, [len]), &Device::flex())
}

fn flat(samples: &[TwinSample], part: impl Fn(&TwinSample) -> &Vec<f64>) -> Vec<f32> {
    let parts = samples.iter().flat_map(|sample| part(sample).clone());
    parts.map(|value| value as f32).collect()
}

/// Loss and gradients in log-prob and entropy, by the crate.
pub(crate) fn ours(samples: &[TwinSample], rule: &LossRule) -> (f64, Vec<f32>, Vec<f32>) {
    let device = Device::flex();
    let scores = TokenScores::from_host(
        flat(samples, |s| &s.log_prob),
        flat(samples, |s| &s.entropy),
        &device,
    );
    let behaviour = tensor(flat(samples, |s| &s.behaviour));
    let reference = tensor(flat(samples, |s| &s.reference));
    let layout = Layout::new(samples.iter().map(|s| s.log_prob.len()).collect());
    let advantages: Vec<f64> = samples.iter().map(|s| s.advantage).collect();
    let weights: Vec<f64> = samples.iter().map(|s| s.weight).collect();
    let inputs = LossInputs {
        old: None,
        layout: &layout,
        behaviour: rule.reads_sampler().then_some(&behaviour),
        reference: rule.kl.map(|_| &reference),
        advantages: &advantages,
        weights: &weights,
    };
    let (value, upstream) = loss_and_upstream(&scores, &inputs, rule).unwrap();
    let (log_prob, entropy) = upstream.to_host().unwrap();
    (value, log_prob, entropy)
}

/// Samples whose ratios lie on both sides of the clip, none within 1e-3 of an edge.
pub(crate) fn samples(seed: u64, lengths: &[usize], aggregation: Aggregation) -> Vec<TwinSample> {
    let tokens = lengths.iter().sum();
    let sample = |(index, &len): (usize, &usize)| {
        let value = |part: u64, t: usize| noise(&[seed, index as u64, part, t as u64]);
        let log_prob: Vec<f64> = (0..len).map(|t| f64::from(-3.0 * value(0, t) as f32)).collect();
        let moved = |part, width: f64| {
            let shift = |t| width * (value(part, t) - 0.5);
            (0..len).map(|t| f64::from((log_prob[t] - shift(t)) as f32)).collect()
        };
        TwinSample {
            behaviour: moved(1, 1.2),
            reference: moved(2, 2.0),
            entropy: (0..len).map(|t| f64::from(2.0 * value(3, t) as f32)).collect(),
            advantage: f64::from(4.0 * (value(4, 0) - 0.5) as f32),
            weight: aggregation.weight(lengths.len(), tokens, len),
            log_prob,
        }
    };
    lengths.iter().enumerate().map(sample).collect()
}

/// The rule of a preset that clips by token, on the sampler's log-probs.
pub(crate) fn base() -> LossRule {
    LossRule { old: swerl_grpo::loss::OldLogProbs::Behaviour, ..Preset::Trl.objective().loss }
}

/// The crate's loss and gradients equal the twin's, and its central differences.
#[track_caller]
pub(crate) fn check(samples: &[TwinSample], rule: &LossRule) {
    let (value, log_prob, entropy) = ours(samples, rule);
    let expected = twin::loss(samples, rule);
    assert!((value - expected).abs() < 2e-5 + 1e-6 * expected.abs(), "{value} {expected} {rule:?}");
    for (t, (a, b)) in log_prob.iter().zip(twin::gradient(samples, rule)).enumerate() {
        let tolerance = 1e-5 + 1e-4 * b.abs();
        assert!((f64::from(*a) - b).abs() < tolerance, "{t}: {a} {b} {rule:?}");
    }
    let weights = samples.iter().flat_map(|s| vec![s.weight; s.log_prob.len()]);
    for (a, weight) in entropy.iter().zip(weights) {
        assert!((f64::from(*a) + rule.entropy * weight).abs() < 1e-6);
    }
}
