//! [`SeedRollouts`]: the trainer's source of groups, from seeds and a sampler.
//!
//! The seeds are gone through in epochs, each in an order drawn by counter. Step `k` of `B`
//! prompts uses places `k * B .. (k + 1) * B` of that endless list, so a run resumed at any step
//! goes on where it was, skips nothing and repeats nothing. An epoch may begin within a step.

use swerl_data::SeedExample;
use swerl_grpo::{Group, RolloutError, RolloutSource, Sequence};

use crate::codec::TextCodec;
use crate::collect::{CollectSettings, RolloutStats, collect_judged};
use crate::error::CollectError;
use crate::external::ExternalReward;
use crate::noise::{NoiseKey, Stream};
use crate::observer::RolloutObserver;
use crate::prompt::PromptBuilder;
use crate::sampler::Sampler;
use crate::trace::TraceWriter;

/// Groups for [`swerl_grpo::train()`], deterministic in the settings' seed and the step.
pub struct SeedRollouts<'a, S, C> {
    seeds: &'a [SeedExample],
    sampler: S,
    builder: PromptBuilder<C>,
    settings: CollectSettings,
    prompts_per_step: usize,
    epoch: Option<(u64, Vec<usize>)>,
    observer: Option<&'a mut dyn RolloutObserver>,
    trace: Option<TraceWriter>,
    reward: Option<ExternalReward>,
    supervised: Option<(Vec<Sequence>, usize)>,
    last: Option<RolloutStats>,
}

impl<'a, S, C: TextCodec> SeedRollouts<'a, S, C> {
    /// `prompts_per_step` groups for each step. SWE-RL: 32.
    ///
    /// # Errors
    /// [`CollectError::NoSeeds`], [`CollectError::Zero`].
    pub fn new(
        seeds: &'a [SeedExample],
        sampler: S,
        builder: PromptBuilder<C>,
        settings: CollectSettings,
        prompts_per_step: usize,
    ) -> Result<Self, CollectError> {
        if seeds.is_empty() {
            return Err(CollectError::NoSeeds);
        }
        for (field, value) in [
            ("prompts_per_step", prompts_per_step),
            ("samples_per_prompt", settings.samples_per_prompt),
        ] {
            if value == 0 {
                return Err(CollectError::Zero { field });
            }
        }
        Ok(Self {
            seeds,
            sampler,
            builder,
            settings,
            prompts_per_step,
            epoch: None,
            observer: None,
            trace: None,
            reward: None,
            supervised: None,
            last: None,
        })
    }

    /// Tells `observer` about progress and asks it whether to stop.
    #[must_use]
    pub fn with_observer(self, observer: &'a mut dyn RolloutObserver) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Writes every rollout to `trace`.
    #[must_use]
    pub fn with_trace(self, trace: TraceWriter) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// Takes rewards from another program instead of the scores.
    #[must_use]
    pub fn with_reward(self, reward: ExternalReward) -> Self {
        Self { reward: Some(reward), ..self }
    }

    /// Gives `per_step` of `sequences` to each step's supervised term
    /// ([`swerl_grpo::TrainConfig::supervised_weight`]), in an order of their own.
    #[must_use]
    pub fn with_supervised(self, sequences: Vec<Sequence>, per_step: usize) -> Self {
        Self { supervised: Some((sequences, per_step)), ..self }
    }

    /// The figures of the last step collected.
    pub fn last_stats(&self) -> Option<&RolloutStats> {
        self.last.as_ref()
    }

    /// The seeds of a step, as indices into the list.
    #[must_use]
    pub fn indices(&mut self, step: u64) -> Vec<usize> {
        let (len, batch) = (self.seeds.len() as u64, self.prompts_per_step as u64);
        (0..batch).map(|prompt| self.place(step * batch + prompt, len)).collect()
    }

    /// The seed at a place of the endless list.
    fn place(&mut self, place: u64, len: u64) -> usize {
        let epoch = place / len;
        let known = self.epoch.take().filter(|(of, _)| *of == epoch);
        let (_, order) = self.epoch.insert(known.unwrap_or_else(|| {
            let key = NoiseKey {
                stream: Stream::SeedOrder,
                seed: self.settings.seed,
                step: epoch,
                prompt: 0,
                sample: 0,
            };
            (epoch, key.permutation(self.seeds.len()))
        }));
        order[usize::try_from(place % len).expect("a place within an epoch is an index")]
    }

    /// Samples and scores the groups of one step.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn groups<P: ?Sized>(&mut self, step: u64, policy: &P) -> Result<Vec<Group>, CollectError>
    where
        S: Sampler<P>,
    {
        let seeds: Vec<&SeedExample> =
            self.indices(step).into_iter().map(|index| &self.seeds[index]).collect();
        let mut silent = ();
        let observer: &mut dyn RolloutObserver = match &mut self.observer {
            Some(observer) => *observer,
            None => &mut silent,
        };
        let (groups, stats) = collect_judged(
            policy,
            &mut self.sampler,
            &self.builder,
            &seeds,
            &self.settings,
            self.reward.as_mut(),
            step,
            observer,
        )?;
        if let Some(trace) = &mut self.trace {
            trace.write(step, &groups).map_err(|source| CollectError::Trace { step, source })?;
        }
        observer.on_collected(&stats);
        self.last = Some(stats);
        Ok(groups.iter().map(crate::collect::ScoredGroup::to_group).collect())
    }
}

impl<P, S: Sampler<P>, C: TextCodec> RolloutSource<P> for SeedRollouts<'_, S, C> {
    fn collect(&mut self, step: u64, policy: &P) -> Result<Vec<Group>, RolloutError> {
        self.groups(step, policy).map_err(RolloutError::new)
    }

    fn supervised(&mut self, step: u64) -> Result<Vec<Sequence>, RolloutError> {
        let Some((sequences, per_step)) = &self.supervised else { return Ok(Vec::new()) };
        let key = NoiseKey {
            stream: Stream::SeedOrder,
            seed: self.settings.seed,
            step,
            // Apart from the order of the prompts, whose keys have 0 here.
            prompt: 1,
            sample: 0,
        };
        let chosen = key.permutation(sequences.len()).into_iter().take(*per_step);
        Ok(chosen.map(|index| sequences[index].clone()).collect())
    }
}
