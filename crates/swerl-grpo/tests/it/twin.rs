//! The losses again: plain f64 loops, written from the formulas.

use swerl_grpo::loss::{KlEstimator, LossRule, OldLogProbs, RatioLevel};

/// One sample's tokens.
#[derive(Debug, Clone)]
pub(crate) struct TwinSample {
    pub(crate) log_prob: Vec<f64>,
    pub(crate) entropy: Vec<f64>,
    pub(crate) old: Vec<f64>,
    pub(crate) reference: Vec<f64>,
    pub(crate) advantage: f64,
    pub(crate) weight: f64,
}

pub(crate) fn loss(samples: &[TwinSample], rule: &LossRule) -> f64 {
    let mut total = 0.0;
    for sample in samples {
        let old = match rule.old {
            OldLogProbs::Behaviour => &sample.old,
            OldLogProbs::Current => panic!("the twin has no detach: pass the values as old"),
        };
        let count = sample.log_prob.len();
        let differences: Vec<f64> = (0..count).map(|t| sample.log_prob[t] - old[t]).collect();
        let sum: f64 = differences.iter().sum();
        for (t, &difference) in differences.iter().enumerate() {
            let log_ratio = match rule.ratio {
                RatioLevel::Token => difference,
                RatioLevel::Sequence => sum,
                RatioLevel::SequenceMean => sum / count as f64,
            };
            let ratio = log_ratio.clamp(-20.0, 20.0).exp();
            let clipped = ratio.clamp(1.0 - rule.clip.low, 1.0 + rule.clip.high);
            let a = sample.advantage;
            let mut surrogate = (ratio * a).min(clipped * a);
            if let Some(bound) = rule.clip.dual.filter(|_| a < 0.0) {
                surrogate = surrogate.max(bound * a);
            }
            let mut term = -surrogate;
            if let Some(kl) = rule.kl {
                let d = (sample.log_prob[t] - sample.reference[t]).clamp(-20.0, 20.0);
                let mut estimate = match kl.estimator {
                    KlEstimator::K1 => d,
                    KlEstimator::K2 => d * d / 2.0,
                    KlEstimator::K3 => (-d).exp() - 1.0 + d,
                };
                if let Some(bound) = kl.clamp {
                    estimate = estimate.clamp(-bound, bound);
                }
                term += kl.coefficient * estimate;
            }
            term -= rule.entropy * sample.entropy[t];
            total += sample.weight * term;
        }
    }
    total
}

/// Central differences of `loss` in every log-prob.
pub(crate) fn gradient(samples: &[TwinSample], rule: &LossRule) -> Vec<f64> {
    let mut found = Vec::new();
    let step = 1e-6;
    for s in 0..samples.len() {
        for t in 0..samples[s].log_prob.len() {
            let moved = |by: f64| {
                let mut samples = samples.to_vec();
                samples[s].log_prob[t] += by;
                loss(&samples, rule)
            };
            found.push((moved(step) - moved(-step)) / (2.0 * step));
        }
    }
    found
}
