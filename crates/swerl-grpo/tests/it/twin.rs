//! The losses again: plain f64 loops, written from the formulas.
//!
//! What the loss detaches is taken from `frozen`, the samples before they were moved.

use swerl_grpo::loss::{
    CispoBound, Kl, KlEstimator, KlPlacement, LossRule, OldLogProbs, RatioLevel, Surrogate,
};

/// One sample's tokens.
#[derive(Debug, Clone)]
pub(crate) struct TwinSample {
    pub(crate) log_prob: Vec<f64>,
    pub(crate) entropy: Vec<f64>,
    pub(crate) behaviour: Vec<f64>,
    pub(crate) reference: Vec<f64>,
    pub(crate) advantage: f64,
    pub(crate) weight: f64,
}

pub(crate) fn loss(samples: &[TwinSample], rule: &LossRule) -> f64 {
    moved_loss(samples, samples, rule)
}

fn moved_loss(samples: &[TwinSample], frozen: &[TwinSample], rule: &LossRule) -> f64 {
    samples.iter().zip(frozen).map(|(own, still)| own.weight * terms(own, still, rule)).sum()
}

fn terms(own: &TwinSample, still: &TwinSample, rule: &LossRule) -> f64 {
    let old = match rule.old {
        OldLogProbs::Behaviour => &still.behaviour,
        OldLogProbs::Current => &still.log_prob,
    };
    let ratio = ratios(&own.log_prob, old, rule.ratio);
    let frozen_ratio = ratios(&still.log_prob, old, rule.ratio);
    let mut total = 0.0;
    for t in 0..own.log_prob.len() {
        let mut a = own.advantage;
        if let Some(kl) = rule.kl.filter(|kl| kl.placement == KlPlacement::Reward) {
            for (old, reference) in old.iter().zip(&own.reference).skip(t) {
                a -= kl.coefficient * estimate(&kl, old - reference);
            }
        }
        let mut surrogate = match rule.surrogate {
            Surrogate::Clip(clip) => {
                let clipped = ratio[t].clamp(1.0 - clip.low, 1.0 + clip.high);
                let surrogate = (ratio[t] * a).min(clipped * a);
                match clip.dual.filter(|_| a < 0.0) {
                    Some(bound) => surrogate.max(bound * a),
                    None => surrogate,
                }
            }
            Surrogate::Cispo(CispoBound::Relative { low, high }) => {
                frozen_ratio[t].clamp(1.0 - low, 1.0 + high) * a * own.log_prob[t]
            }
            Surrogate::Cispo(CispoBound::Absolute { cap }) => {
                frozen_ratio[t].min(cap) * a * own.log_prob[t]
            }
            Surrogate::Mask(mask) => {
                let moved = still.log_prob[t].exp() - old[t].exp();
                let out = if a > 0.0 { moved > mask.high } else { moved < -mask.low };
                if out { 0.0 } else { ratio[t] * a }
            }
        };
        if let Some(importance) = rule.truncated_importance {
            surrogate *= ratios(old, &own.behaviour, importance.level)[t].min(importance.cap);
        }
        total -= surrogate;
        if let Some(kl) = rule.kl {
            let d = own.log_prob[t] - own.reference[t];
            let still = still.log_prob[t] - own.reference[t];
            total += kl.coefficient
                * match kl.placement {
                    KlPlacement::Loss => estimate(&kl, d),
                    KlPlacement::LossStraightThrough => {
                        estimate(&kl, still) + (d * d - still * still) / 2.0
                    }
                    KlPlacement::Reward => 0.0,
                };
        }
        total += rule.drift.unwrap_or(0.0) * (own.log_prob[t] - own.behaviour[t]).powi(2);
        total -= rule.entropy * own.entropy[t];
    }
    total
}

fn ratios(log_prob: &[f64], old: &[f64], level: RatioLevel) -> Vec<f64> {
    let differences: Vec<f64> = log_prob.iter().zip(old).map(|(a, b)| a - b).collect();
    let sum: f64 = differences.iter().sum();
    let combined = |difference: f64| match level {
        RatioLevel::Token => difference,
        RatioLevel::Sequence => sum,
        RatioLevel::SequenceMean => sum / log_prob.len() as f64,
    };
    differences.iter().map(|&d| combined(d).clamp(-20.0, 20.0).exp()).collect()
}

fn estimate(kl: &Kl, d: f64) -> f64 {
    let d = d.clamp(-20.0, 20.0);
    let estimate = match kl.estimator {
        KlEstimator::K1 => d,
        KlEstimator::K2 => d * d / 2.0,
        KlEstimator::K3 => (-d).exp() - 1.0 + d,
    };
    kl.clamp.map_or(estimate, |bound| estimate.clamp(-bound, bound))
}

/// Central differences of `loss` in every log-prob.
pub(crate) fn gradient(samples: &[TwinSample], rule: &LossRule) -> Vec<f64> {
    let mut found = Vec::new();
    let step = 1e-6;
    for s in 0..samples.len() {
        for t in 0..samples[s].log_prob.len() {
            let moved = |by: f64| {
                let mut moved = samples.to_vec();
                moved[s].log_prob[t] += by;
                moved_loss(&moved, samples, rule)
            };
            found.push((moved(step) - moved(-step)) / (2.0 * step));
        }
    }
    found
}
