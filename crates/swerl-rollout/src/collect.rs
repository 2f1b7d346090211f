//! From seeds to scored groups: prompts, samples, rewards, statistics.
//!
//! Prompts are built and completions scored in parallel; each result depends on its own input
//! alone and lands in the order of the input, so the thread count changes nothing. A completion is
//! scored on its seed's whole context, whether or not the prompt had room for every file.

mod stats;

pub use stats::RolloutStats;
pub(crate) use stats::mean;

use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::{Finish, Group};
use swerl_reward::similarity::Matcher;
use swerl_reward::{Score, Scorer, Target};

use crate::codec::TextCodec;
use crate::completion::Completion;
use crate::error::{CollectError, SampleError};
use crate::external::ExternalReward;
use crate::noise::{NoiseKey, Stream};
use crate::observer::RolloutObserver;
use crate::prompt::{Prompt, PromptBuilder};
use crate::sampler::{SampleRequest, Sampler};
use crate::sampling::SamplingParams;

/// What the trainer is told about the rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RewardControl {
    /// The truth.
    AsScored,
    /// Each group's rewards in an order drawn by counter. The control experiment: advantages keep
    /// their distribution and lose their meaning, so whatever still improves is not learned from
    /// the rewards.
    PermutedInGroup,
}

/// How groups are collected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectSettings {
    /// Completions per prompt, `G`; at least 1. SWE-RL: 16.
    pub samples_per_prompt: usize,
    /// How tokens are drawn.
    pub params: SamplingParams,
    /// Seed of all noise.
    pub seed: u64,
    /// Whether a prompt's files are shown in an order drawn anew for each step and prompt. The
    /// samples of a group share one prompt, hence one order.
    pub shuffle_files: bool,
    /// What the trainer is told about the rewards.
    pub control: RewardControl,
}

/// One prompt, its completions, and what they are worth.
#[derive(Debug, Clone)]
pub struct ScoredGroup {
    /// The prompt.
    pub prompt: Prompt,
    /// The completions, by number of the sample.
    pub completions: Vec<Completion>,
    /// The score of each completion.
    pub scores: Vec<Score>,
    /// What an external reward said of each completion, where one is asked; `None` for those that it
    /// could not judge.
    pub external: Option<Vec<Option<f64>>>,
    /// What the trainer is told: the external rewards, else the scores' rewards, `None` for aborted
    /// completions, permuted when [`RewardControl`] says so.
    pub rewards: Vec<Option<f64>>,
}

impl ScoredGroup {
    /// What a completion earned, before any permutation; `None` where it was not judged.
    ///
    /// # Panics
    /// If there is no such completion.
    #[must_use]
    pub fn earned(&self, sample: usize) -> Option<f64> {
        if self.completions[sample].finish == Finish::Abort {
            return None;
        }
        match &self.external {
            Some(external) => external[sample],
            None => Some(self.scores[sample].reward),
        }
    }

    /// The trainer's view.
    #[must_use]
    pub fn to_group(&self) -> Group {
        let sequence = |completion: &Completion| completion.to_sequence(&self.prompt.ids);
        Group {
            prompt_len: self.prompt.ids.len(),
            sequences: self.completions.iter().map(sequence).collect(),
            rewards: self.rewards.clone(),
            id: self.prompt.id.clone(),
        }
    }
}

/// Samples and scores one group for each of `seeds`, prompt `i` being `seeds[i]`.
///
/// # Errors
/// [`CollectError`], when sampling fails or is interrupted.
pub fn collect<P: ?Sized, S: Sampler<P> + ?Sized, C: TextCodec>(
    policy: &P,
    sampler: &mut S,
    builder: &PromptBuilder<C>,
    seeds: &[&SeedExample],
    settings: &CollectSettings,
    step: u64,
    observer: &mut dyn RolloutObserver,
) -> Result<(Vec<ScoredGroup>, RolloutStats), CollectError> {
    collect_judged(policy, sampler, builder, seeds, settings, None, step, observer)
}

/// [`collect`], with rewards from `external` in place of the scores', where there is one.
///
/// The scores are taken all the same: the statistics of format and similarity are theirs.
///
/// # Errors
/// As [`collect`], and when the external reward fails.
#[allow(clippy::too_many_arguments)] // Those of `collect`, and one.
pub fn collect_judged<P: ?Sized, S: Sampler<P> + ?Sized, C: TextCodec>(
    policy: &P,
    sampler: &mut S,
    builder: &PromptBuilder<C>,
    seeds: &[&SeedExample],
    settings: &CollectSettings,
    external: Option<&mut ExternalReward>,
    step: u64,
    observer: &mut dyn RolloutObserver,
) -> Result<(Vec<ScoredGroup>, RolloutStats), CollectError> {
    if settings.samples_per_prompt == 0 {
        return Err(CollectError::Zero { field: "samples_per_prompt" });
    }
    let key = |stream, prompt: usize| NoiseKey {
        stream,
        seed: settings.seed,
        step,
        prompt: prompt as u64,
        sample: 0,
    };
    let prompts: Vec<Prompt> = seeds
        .par_iter()
        .enumerate()
        .map(|(index, seed)| {
            builder.build(seed, settings.shuffle_files.then(|| key(Stream::FileOrder, index)))
        })
        .collect();
    let start = Instant::now();
    let request = SampleRequest {
        prompts: &prompts,
        samples_per_prompt: settings.samples_per_prompt,
        params: &settings.params,
        stream: Stream::Tokens,
        seed: settings.seed,
        step,
        first_prompt: 0,
        first_sample: 0,
        weights_version: step,
    };
    let completions = sample_checked(policy, sampler, &request, observer)
        .map_err(|source| CollectError::Sample { step, source })?;
    let sample_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut groups = score(seeds, prompts, completions);
    if let Some(external) = external {
        let rewards = external
            .judge(step, seeds, &groups)
            .map_err(|source| CollectError::Reward { step, source })?;
        for (group, rewards) in groups.iter_mut().zip(rewards) {
            group.external = Some(rewards);
            group.rewards = (0..group.completions.len()).map(|i| group.earned(i)).collect();
        }
    }
    let score_s = start.elapsed().as_secs_f64();
    if settings.control == RewardControl::PermutedInGroup {
        for (index, group) in groups.iter_mut().enumerate() {
            let order = key(Stream::RewardOrder, index).permutation(group.rewards.len());
            group.rewards = order.into_iter().map(|from| group.rewards[from]).collect();
        }
    }
    let stats = RolloutStats { sample_s, score_s, ..RolloutStats::of(step, &groups) };
    Ok((groups, stats))
}

/// [`Sampler::sample`], with the shape of its answer checked.
pub(crate) fn sample_checked<P: ?Sized, S: Sampler<P> + ?Sized>(
    policy: &P,
    sampler: &mut S,
    request: &SampleRequest<'_>,
    observer: &mut dyn RolloutObserver,
) -> Result<Vec<Vec<Completion>>, SampleError> {
    let mut completions = sampler.sample(policy, request, observer)?;
    completions.resize(request.prompts.len().max(completions.len()), Vec::new());
    let expected = request.samples_per_prompt;
    for (index, group) in completions.iter().enumerate() {
        let prompt = request.prompts.get(index);
        if group.len() != expected || prompt.is_none() {
            return Err(SampleError::Count {
                id: prompt.map_or_else(|| format!("prompt {index}"), |prompt| prompt.id.clone()),
                found: group.len(),
                expected: if prompt.is_none() { 0 } else { expected },
            });
        }
    }
    Ok(completions)
}

/// Scores every completion against its seed, in parallel over all of them.
///
/// # Panics
/// If the three lists differ in length.
#[must_use]
pub fn score(
    seeds: &[&SeedExample],
    prompts: Vec<Prompt>,
    completions: Vec<Vec<Completion>>,
) -> Vec<ScoredGroup> {
    assert_eq!(seeds.len(), prompts.len(), "one prompt per seed");
    assert_eq!(seeds.len(), completions.len(), "one group per seed");
    let scores: Vec<Vec<Score>> = seeds
        .par_iter()
        .zip(&completions)
        .map(|(seed, group)| {
            let context = seed.context();
            let target = Target::new(&context, &seed.oracle);
            let one = |matcher: &mut Matcher, completion: &Completion| {
                Scorer::new().score(matcher, &target, &completion.text)
            };
            group.par_iter().map_init(Matcher::new, one).collect()
        })
        .collect();
    prompts
        .into_iter()
        .zip(completions)
        .zip(scores)
        .map(|((prompt, completions), scores)| {
            let judged = |(completion, score): (&Completion, &Score)| {
                (completion.finish != Finish::Abort).then_some(score.reward)
            };
            let rewards = completions.iter().zip(&scores).map(judged).collect();
            ScoredGroup { prompt, completions, scores, external: None, rewards }
        })
        .collect()
}
