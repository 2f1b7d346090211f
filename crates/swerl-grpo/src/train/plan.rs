//! What a step computes: which samples, with which advantage and weight, in which micro-batches.

use std::ops::Range;

use crate::advantage::Advantages;
use crate::batch::{BatchError, Member, Piece, TokenBatch, split_by_budget};
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::loss::Layout;
use crate::policy::PolicyError;
use crate::sequence::Group;

use super::measure::MicroData;

/// A sample that takes part in the loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) member: Member,
    pub(super) advantage: f64,
    /// Of each of its tokens.
    pub(super) weight: f64,
    /// Number of its policy tokens.
    pub(super) len: usize,
}

pub(super) struct StepPlan {
    samples: Vec<Sample>,
    runs: Vec<Range<usize>>,
}

/// Refuses what no step can be made of.
pub(super) fn check(step: u64, groups: &[Group]) -> Result<(), TrainError> {
    if groups.is_empty() {
        return Err(TrainError::Empty { step });
    }
    for group in groups {
        group.validate().map_err(|source| TrainError::Batch { step, source })?;
        if group.sequences.len() == 1 {
            let id = group.id.clone();
            return Err(TrainError::SingleMember { step, id });
        }
    }
    Ok(())
}

/// Refuses advantages that are no numbers: finite rewards so large that their std overflows.
pub(super) fn check_advantages(
    step: u64,
    groups: &[Group],
    advantages: &[Advantages],
) -> Result<(), TrainError> {
    for (group, advantages) in groups.iter().zip(advantages) {
        if let Some(member) = advantages.values.iter().position(|value| !value.is_finite()) {
            return Err(TrainError::NonFinite {
                step,
                id: group.id.clone(),
                member,
                what: "the advantage",
                value: advantages.values[member],
            });
        }
    }
    Ok(())
}

impl StepPlan {
    /// One plan for each of the configured parts of the groups.
    pub(super) fn parts(
        groups: &[Group],
        advantages: &[Advantages],
        config: &TrainConfig,
    ) -> Vec<Self> {
        let parts = config.minibatches.min(groups.len()).max(1);
        let bound = |part: usize| groups.len() * part / parts;
        (0..parts)
            .map(|part| Self::new(groups, advantages, bound(part)..bound(part + 1), config))
            .collect()
    }

    /// Denominators count all judged samples of `part`, those without a gradient included.
    fn new(
        groups: &[Group],
        advantages: &[Advantages],
        part: Range<usize>,
        config: &TrainConfig,
    ) -> Self {
        let loss = &config.objective.loss;
        let always = loss.trains_without_advantage();
        let mut samples = Vec::new();
        let (mut judged, mut tokens) = (0, 0);
        for (group, (content, advantages)) in
            groups.iter().zip(advantages).enumerate().skip(part.start).take(part.len())
        {
            for (sequence, reward) in content.rewards.iter().enumerate() {
                if reward.is_none() {
                    continue;
                }
                let len = content.sequences[sequence].policy_tokens();
                judged += 1;
                tokens += len;
                let advantage = advantages.values[sequence];
                if always || advantage != 0.0 {
                    samples.push(Sample {
                        member: Member { group, sequence },
                        advantage,
                        weight: 0.0,
                        len,
                    });
                }
            }
        }
        for sample in &mut samples {
            sample.weight = loss.aggregation.weight(judged, tokens, sample.len);
        }
        let pieces: Vec<Piece> = samples
            .iter()
            .map(|sample| {
                let group = &groups[sample.member.group];
                let all = group.sequences[sample.member.sequence].tokens.len();
                Piece {
                    row: sample.member.group,
                    shared: group.prompt_len,
                    own: all - group.prompt_len,
                }
            })
            .collect();
        Self { runs: split_by_budget(&pieces, config.micro_batch_tokens), samples }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub(super) fn micro_batches(&self) -> impl ExactSizeIterator<Item = MicroBatch<'_>> {
        self.runs.iter().map(|run| MicroBatch { samples: &self.samples[run.clone()] })
    }

    /// Each sample by itself.
    pub(super) fn singles(&self) -> impl Iterator<Item = MicroBatch<'_>> {
        self.samples.chunks(1).map(|samples| MicroBatch { samples })
    }
}

/// Samples that are computed together.
#[derive(Debug, Clone, Copy)]
pub(super) struct MicroBatch<'a> {
    pub(super) samples: &'a [Sample],
}

impl<'a> MicroBatch<'a> {
    pub(super) fn batch(
        self,
        groups: &[Group],
        temperature: f32,
    ) -> Result<TokenBatch, BatchError> {
        let members: Vec<Member> = self.samples.iter().map(|sample| sample.member).collect();
        TokenBatch::from_members(groups, &members, temperature)
    }

    pub(super) fn data(
        self,
        groups: &'a [Group],
        batch: &TokenBatch,
        old: Option<&'a [f32]>,
    ) -> MicroData<'a> {
        let mut behaviour = Vec::with_capacity(batch.targets.len());
        for sample in self.samples {
            let sequence = &groups[sample.member.group].sequences[sample.member.sequence];
            let tokens = sequence.behaviour_log_probs.iter();
            let made = tokens.zip(&sequence.policy_mask).filter(|(_, made)| **made);
            behaviour.extend(made.map(|(&log_prob, _)| log_prob));
        }
        MicroData {
            samples: self.samples,
            versions: self
                .samples
                .iter()
                .map(|s| groups[s.member.group].sequences[s.member.sequence].weights_version)
                .collect(),
            layout: Layout::of_targets(&batch.targets, batch.samples),
            behaviour,
            old,
        }
    }
}

/// The step's error for a policy's, naming the sample where the policy's error does.
pub(super) fn name_sample(
    step: u64,
    groups: &[Group],
    micro: MicroBatch<'_>,
    source: PolicyError,
) -> TrainError {
    match source {
        PolicyError::NonFinite { sample, what, value, .. } if sample < micro.samples.len() => {
            let samples = &micro.samples[sample..=sample];
            not_finite(step, groups, MicroBatch { samples }, what, value)
        }
        source => TrainError::Policy { step, source },
    }
}

/// [`TrainError::NonFinite`] for the first sample of `micro`.
pub(super) fn not_finite(
    step: u64,
    groups: &[Group],
    micro: MicroBatch<'_>,
    what: &'static str,
    value: f64,
) -> TrainError {
    let member = micro.samples[0].member;
    TrainError::NonFinite {
        step,
        id: groups[member.group].id.clone(),
        member: member.sequence,
        what,
        value,
    }
}
