//! Evaluating a policy on held-out seeds: one sample each, results by seed, paired comparison.
//!
//! Two policies that are evaluated with the same settings see the same prompts and the same noise,
//! so their results can be compared seed by seed ([`Evaluation::compare`]). Evaluation has a
//! stream of noise of its own and shares none with training.

mod paired;

pub use paired::{Interval, PairedDifference};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::Finish;

use crate::codec::TextCodec;
use crate::collect::{RolloutStats, ScoredGroup, mean, sample_checked, score};
use crate::error::CollectError;
use crate::noise::{NoiseKey, Stream};
use crate::observer::RolloutObserver;
use crate::prompt::{Prompt, PromptBuilder};
use crate::sampler::{SampleRequest, Sampler};
use crate::sampling::SamplingParams;

/// How a policy is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSettings {
    /// How tokens are drawn.
    pub params: SamplingParams,
    /// Seed of the noise. Equal for policies that are to be compared.
    pub seed: u64,
    /// Whether a prompt's files are shown in an order drawn by counter. Seeds list the files to be
    /// edited first, which a prompt should not give away.
    pub shuffle_files: bool,
}

/// What one seed's sample was worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeedResult {
    /// Id of the seed.
    pub id: String,
    /// Reward, -1 or in [0, 1].
    pub reward: f64,
    /// Whether the answer keeps the format and applies; its reward is then its similarity.
    pub valid: bool,
    /// Whether its patch equals the oracle's.
    pub exact: bool,
    /// Name of the outcome.
    pub outcome: String,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the completion.
    pub tokens: u64,
}

/// The results of one policy, in the order of the seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of the weights evaluated.
    pub weights_version: u64,
    /// One result per seed.
    pub results: Vec<SeedResult>,
    /// Seconds of wall clock spent sampling and scoring.
    pub seconds: f64,
}

impl Evaluation {
    fn of(groups: &[ScoredGroup], weights_version: u64, seconds: f64) -> Self {
        let members = groups.iter().flat_map(|group| {
            let pairs = group.completions.iter().zip(&group.scores);
            pairs.map(|(completion, score)| (&group.prompt.id, completion, score))
        });
        let results = members.map(|(id, completion, score)| SeedResult {
            id: id.clone(),
            reward: score.reward,
            valid: score.is_valid(),
            exact: score.is_exact(),
            outcome: score.outcome.kind().to_owned(),
            finish: completion.finish,
            tokens: completion.ids.len() as u64,
        });
        Self { weights_version, results: results.collect(), seconds }
    }

    /// Mean reward; 0 without results, as the shares.
    #[must_use]
    pub fn reward_mean(&self) -> f64 {
        self.mean_of(|result| result.reward)
    }

    /// The mean reward with its 95% confidence interval; `None` for fewer than two results.
    #[must_use]
    pub fn reward_interval(&self) -> Option<Interval> {
        let rewards: Vec<f64> = self.results.iter().map(|result| result.reward).collect();
        Interval::of_mean(&rewards)
    }

    /// Share of format-valid answers, in [0, 1].
    #[must_use]
    pub fn format_valid(&self) -> f64 {
        self.mean_of(|result| f64::from(u8::from(result.valid)))
    }

    /// Share of answers whose patch equals the oracle's, in [0, 1].
    #[must_use]
    pub fn exact(&self) -> f64 {
        self.mean_of(|result| f64::from(u8::from(result.exact)))
    }

    /// Mean similarity of the format-valid answers; `None` where there is none.
    #[must_use]
    pub fn valid_similarity(&self) -> Option<f64> {
        let valid = self.results.iter().filter(|result| result.valid);
        mean(&valid.map(|result| result.reward).collect::<Vec<_>>())
    }

    /// Completion tokens of all results.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.results.iter().map(|result| result.tokens).sum()
    }

    /// Reward of `after` minus reward of this, seed by seed. `None` unless both hold the same
    /// seeds in the same order, at least two.
    #[must_use]
    pub fn compare(&self, after: &Self) -> Option<PairedDifference> {
        self.compare_by(after, |result| result.reward)
    }

    /// As [`Evaluation::compare`], of any figure of a result.
    #[must_use]
    pub fn compare_by(
        &self,
        after: &Self,
        figure: impl Fn(&SeedResult) -> f64,
    ) -> Option<PairedDifference> {
        let ids = |evaluation: &Self| -> Vec<String> {
            evaluation.results.iter().map(|result| result.id.clone()).collect()
        };
        if ids(self) != ids(after) {
            return None;
        }
        let pairs = self.results.iter().zip(&after.results);
        let differences: Vec<f64> =
            pairs.map(|(before, after)| figure(after) - figure(before)).collect();
        PairedDifference::of(&differences)
    }

    fn mean_of(&self, figure: impl Fn(&SeedResult) -> f64) -> f64 {
        mean(&self.results.iter().map(figure).collect::<Vec<_>>()).unwrap_or(0.0)
    }
}

/// Samples one answer for each seed and scores it.
///
/// `weights_version` is noted in the result. The observer's `on_collected` gets the figures.
///
/// # Errors
/// [`CollectError`], when there are no seeds, or sampling fails or is interrupted.
pub fn evaluate<P: ?Sized, S: Sampler<P> + ?Sized, C: TextCodec>(
    policy: &P,
    sampler: &mut S,
    builder: &PromptBuilder<C>,
    seeds: &[SeedExample],
    settings: &EvaluationSettings,
    weights_version: u64,
    observer: &mut dyn RolloutObserver,
) -> Result<Evaluation, CollectError> {
    if seeds.is_empty() {
        return Err(CollectError::NoSeeds);
    }
    let start = std::time::Instant::now();
    let order = |prompt: usize| NoiseKey {
        stream: Stream::FileOrder,
        seed: settings.seed,
        step: 0,
        prompt: prompt as u64,
        sample: 0,
    };
    let prompts: Vec<Prompt> = seeds
        .par_iter()
        .enumerate()
        .map(|(index, seed)| builder.build(seed, settings.shuffle_files.then(|| order(index))))
        .collect();
    let request = SampleRequest {
        prompts: &prompts,
        samples_per_prompt: 1,
        params: &settings.params,
        stream: Stream::Evaluation,
        seed: settings.seed,
        step: 0,
        first_prompt: 0,
        first_sample: 0,
        weights_version,
    };
    let completions = sample_checked(policy, sampler, &request, observer)
        .map_err(|source| CollectError::Sample { step: weights_version, source })?;
    let seeds: Vec<&SeedExample> = seeds.iter().collect();
    let groups = score(&seeds, prompts, completions);
    let seconds = start.elapsed().as_secs_f64();
    observer.on_collected(&RolloutStats::of(weights_version, &groups));
    Ok(Evaluation::of(&groups, weights_version, seconds))
}
