//! Loss, upstream gradients and measurements of micro-batches, and their sums over a step.
//!
//! All sums run in f64 on the host, in the order of the samples.

use crate::advantage::Advantages;
use crate::batch::Member;
use crate::config::{SamplerCheck, TrainConfig};
use crate::error::TrainError;
use crate::loss::{KlPlacement, Layout, LossInputs, OldLogProbs, RatioLevel, loss_and_upstream};
use crate::metrics::{PhaseTimes, StepMetrics};
use crate::policy::{PolicyError, TokenScores};
use crate::sequence::{Finish, Group};

use super::plan::{Sample, StepPlan};

/// What a micro-batch's loss needs besides its scores.
pub(super) struct MicroData<'a> {
    pub(super) samples: &'a [Sample],
    /// Per sample.
    pub(super) versions: Vec<u64>,
    pub(super) layout: Layout,
    /// Per target.
    pub(super) behaviour: Vec<f32>,
    /// Per target, the trainer's at the weights that the step started with; `None` while those are
    /// the current ones.
    pub(super) old: Option<&'a [f32]>,
}

/// What a micro-batch measured, on the host.
pub(super) struct Measured<'a> {
    data: &'a MicroData<'a>,
    loss: f64,
    log_prob: Vec<f32>,
    entropy: Vec<f32>,
    reference: Option<Vec<f32>>,
}

impl Measured<'_> {
    /// Per target.
    pub(super) fn log_prob(&self) -> &[f32] {
        &self.log_prob
    }
}

impl MicroData<'_> {
    pub(super) fn upstream(
        &self,
        scores: &TokenScores,
        reference: Option<&TokenScores>,
        config: &TrainConfig,
    ) -> Result<(Measured<'_>, TokenScores), PolicyError> {
        let (log_prob, entropy) = scores.to_host()?;
        self.check_finite("log-prob", &log_prob)?;
        self.check_finite("entropy", &entropy)?;
        // A clamp may turn what is no number into a bound, so nothing later would notice.
        let reads_sampler = config.objective.loss.reads_sampler();
        if reads_sampler || config.sampler_check.is_some() {
            self.check_finite("behaviour log-prob", &self.behaviour)?;
        }
        let device = scores.log_prob.device();
        let tensor = |values: &[f32]| {
            let zeros = vec![0.0; values.len()];
            TokenScores::from_host(values.to_vec(), zeros, &device).log_prob
        };
        let behaviour = reads_sampler.then(|| tensor(&self.behaviour));
        let old = self.old.map(tensor);
        let advantages: Vec<f64> = self.samples.iter().map(|s| s.advantage).collect();
        let weights: Vec<f64> = self.samples.iter().map(|s| s.weight).collect();
        let inputs = LossInputs {
            layout: &self.layout,
            behaviour: behaviour.as_ref(),
            old: old.as_ref(),
            reference: reference.map(|scores| &scores.log_prob),
            advantages: &advantages,
            weights: &weights,
        };
        let reference = reference.map(TokenScores::to_host).transpose()?;
        if let Some((log_prob, _)) = &reference {
            self.check_finite("log-prob of the reference", log_prob)?;
        }
        let (loss, upstream) = loss_and_upstream(scores, &inputs, &config.objective.loss)?;
        let measured = Measured {
            data: self,
            loss,
            log_prob,
            entropy,
            reference: reference.map(|(log_prob, _)| log_prob),
        };
        Ok((measured, upstream))
    }

    fn check_finite(&self, what: &'static str, values: &[f32]) -> Result<(), PolicyError> {
        let expected = self.layout.targets();
        if values.len() != expected {
            return Err(PolicyError::Scores { what, found: values.len(), expected });
        }
        let Some(target) = values.iter().position(|value| !value.is_finite()) else {
            return Ok(());
        };
        let mut end = 0;
        let sample = self.layout.lengths().iter().position(|len| {
            end += len;
            target < end
        });
        Err(PolicyError::NonFinite {
            target,
            sample: sample.unwrap_or_default(),
            what,
            value: f64::from(values[target]),
        })
    }
}

/// Sums over the micro-batches of a step.
///
/// Ratios and what bounds them are those of all passes. Tokens, entropy and KL are those of the
/// first, and the sampler is compared at the weights that the step starts with.
pub(super) struct Measures<'a> {
    step: u64,
    config: &'a TrainConfig,
    first_pass: bool,
    updates: usize,
    loss: f64,
    tokens: usize,
    entropy: f64,
    kl: f64,
    ratio: Spread,
    low: usize,
    high: usize,
    difference: Spread,
    sampler_ratio: f64,
    worst: Option<Member>,
}

/// Least, mean and most.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    count: usize,
    sum: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// Whether `value` is the largest so far.
    fn add(&mut self, value: f64) -> bool {
        let largest = self.count == 0 || value > self.max;
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = if largest { value } else { self.max };
        self.sum += value;
        self.count += 1;
        largest
    }

    fn some(&self, value: f64) -> Option<f64> {
        (self.count > 0).then_some(value)
    }

    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

impl<'a> Measures<'a> {
    pub(super) fn new(step: u64, config: &'a TrainConfig) -> Self {
        Self {
            step,
            config,
            first_pass: true,
            updates: 0,
            loss: 0.0,
            tokens: 0,
            entropy: 0.0,
            kl: 0.0,
            ratio: Spread::default(),
            low: 0,
            high: 0,
            difference: Spread::default(),
            sampler_ratio: 0.0,
            worst: None,
        }
    }

    #[allow(clippy::needless_pass_by_value)] // it borrows; its vectors end here
    pub(super) fn add(&mut self, measured: Measured<'_>) {
        self.loss += measured.loss;
        let rule = &self.config.objective.loss;
        let mut start = 0;
        for (index, sample) in measured.data.samples.iter().enumerate() {
            let range = start..start + sample.len;
            start += sample.len;
            let log_prob = &measured.log_prob[range.clone()];
            let behaviour = &measured.data.behaviour[range.clone()];
            let reference = measured.reference.as_ref().map(|values| &values[range.clone()]);
            if self.first_pass {
                self.tokens += sample.len;
                let entropies = measured.entropy[range.clone()].iter();
                self.entropy += entropies.map(|&value| f64::from(value)).sum::<f64>();
                if let (Some(kl), Some(reference)) = (&rule.kl, reference) {
                    for (&own, &other) in log_prob.iter().zip(reference) {
                        self.kl += kl.estimator.value(f64::from(own) - f64::from(other));
                    }
                }
            }
            let started = measured.data.old.map_or(log_prob, |old| &old[range.clone()]);
            let old = if rule.old == OldLogProbs::Current { started } else { behaviour };
            let advantages = self.token_advantages(sample.advantage, old, reference);
            self.add_ratios(log_prob, old, &advantages);
            let fresh = measured.data.versions[index] == self.step;
            if self.config.sampler_check.is_some() && self.first_pass && fresh {
                for (&own, &sampler) in started.iter().zip(behaviour) {
                    let difference = f64::from(own) - f64::from(sampler);
                    self.sampler_ratio += difference.exp();
                    if self.difference.add(difference.abs()) {
                        self.worst = Some(sample.member);
                    }
                }
            }
        }
    }

    /// Another update is done.
    pub(super) fn end_update(&mut self) {
        self.updates += 1;
    }

    /// The first pass over the batch is done.
    pub(super) fn end_pass(&mut self) {
        self.first_pass = false;
    }

    /// One sample's advantage at each of its tokens: a KL in the reward is taken off.
    fn token_advantages(&self, advantage: f64, old: &[f32], reference: Option<&[f32]>) -> Vec<f64> {
        let mut advantages = vec![advantage; old.len()];
        let kl = self.config.objective.loss.kl.filter(|kl| kl.placement == KlPlacement::Reward);
        if let (Some(kl), Some(reference)) = (kl, reference) {
            let mut to_come = 0.0;
            for (t, advantage) in advantages.iter_mut().enumerate().rev() {
                to_come += kl.value(f64::from(old[t]) - f64::from(reference[t]));
                *advantage -= kl.coefficient * to_come;
            }
        }
        advantages
    }

    /// The ratios of one sample and what bounds them.
    fn add_ratios(&mut self, log_prob: &[f32], old: &[f32], advantages: &[f64]) {
        let rule = &self.config.objective.loss;
        let pairs = || log_prob.iter().zip(old).map(|(&a, &b)| (f64::from(a), f64::from(b)));
        let sum: f64 = pairs().map(|(own, old)| own - old).sum();
        for ((own, old), &advantage) in pairs().zip(advantages) {
            let log_ratio = match rule.ratio {
                RatioLevel::Token => own - old,
                RatioLevel::Sequence => sum,
                RatioLevel::SequenceMean => sum / log_prob.len() as f64,
            };
            let ratio = log_ratio.exp();
            self.ratio.add(ratio);
            let (low, high) = rule.surrogate.active(ratio, own.exp() - old.exp(), advantage);
            self.low += usize::from(low);
            self.high += usize::from(high);
        }
    }

    /// The sum of the losses so far.
    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    /// Refuses a sampler that disagrees with the trainer on the same weights.
    pub(super) fn check(&self, step: u64, groups: &[Group]) -> Result<(), TrainError> {
        let (Some(SamplerCheck { mean, max }), Some(worst)) =
            (self.config.sampler_check, self.worst)
        else {
            return Ok(());
        };
        if self.difference.mean() <= mean && self.difference.max <= max {
            return Ok(());
        }
        Err(TrainError::SamplerMismatch {
            step,
            mean: self.difference.mean(),
            mean_tolerance: mean,
            max: self.difference.max,
            max_tolerance: max,
            id: groups[worst.group].id.clone(),
            member: worst.sequence,
        })
    }

    /// The step's metrics; gradient norm, rate and times are the caller's.
    pub(super) fn metrics(
        &self,
        groups: &[Group],
        advantages: &[Advantages],
        plans: &[StepPlan],
    ) -> StepMetrics {
        let sequences = || groups.iter().flat_map(|group| &group.sequences);
        let samples = sequences().count();
        let share = |finish| {
            let count = sequences().filter(|sequence| sequence.finish == finish).count();
            count as f64 / samples as f64
        };
        let mut lengths = Spread::default();
        for sequence in sequences() {
            lengths.add(sequence.policy_tokens() as f64);
        }
        let rewards: Vec<f64> =
            groups.iter().flat_map(|group| group.rewards.iter().copied().flatten()).collect();
        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        let squares: f64 = rewards.iter().map(|reward| (reward - mean).powi(2)).sum();
        let judged = |value| (!rewards.is_empty()).then_some(value);
        let no_spread = advantages.iter().filter(|group| group.no_spread).count();
        let per_token = |sum: f64| sum / self.tokens.max(1) as f64;
        let trained = |value| (self.tokens > 0).then_some(value);
        StepMetrics {
            step: self.step + 1,
            groups: groups.len(),
            samples,
            unscored: samples - rewards.len(),
            trained: plans.iter().map(|plan| plan.samples().len()).sum(),
            policy_tokens: lengths.sum as usize,
            trained_tokens: self.tokens,
            micro_batches: plans.iter().map(|plan| plan.micro_batches().len()).sum(),
            updates: self.updates,
            reward_mean: judged(mean),
            reward_std: judged((squares / rewards.len() as f64).sqrt()),
            frac_reward_zero_std: no_spread as f64 / groups.len() as f64,
            completion_length_mean: lengths.mean(),
            completion_length_min: lengths.min as usize,
            completion_length_max: lengths.max as usize,
            truncated_fraction: share(Finish::Length),
            aborted_fraction: share(Finish::Abort),
            loss: self.loss / self.updates.max(1) as f64,
            supervised_loss: None,
            kl: self.config.objective.loss.kl.and(trained(per_token(self.kl))),
            entropy: trained(per_token(self.entropy)),
            clip_fraction_low: self.low as f64 / self.ratio.count.max(1) as f64,
            clip_fraction_high: self.high as f64 / self.ratio.count.max(1) as f64,
            ratio_min: self.ratio.some(self.ratio.min),
            ratio_mean: self.ratio.some(self.ratio.mean()),
            ratio_max: self.ratio.some(self.ratio.max),
            sampler_difference_mean: self.difference.some(self.difference.mean()),
            sampler_difference_max: self.difference.some(self.difference.max),
            sampler_ratio_mean: self
                .difference
                .some(self.sampler_ratio / self.difference.count as f64),
            grad_norm: 0.0,
            learning_rate: 0.0,
            times: PhaseTimes::default(),
        }
    }
}
