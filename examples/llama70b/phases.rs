//! The phases of the recipe: evaluation, warm start, GRPO and the supervised control.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, ensure};
use burn::module::Module;
use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::{
    CheckpointRule, Decay, End, OptimizerRule, Preset, Resume, SamplerCheck, Schedule, Sequence,
    SftConfig, TrainConfig, sft, train,
};
use swerl_model::{CausalLm, Tokenizer};
use swerl_rollout::{
    CollectSettings, Evaluation, EvaluationSettings, LocalLimits, LocalSampler, RewardControl,
    SeedRollouts, SftSettings, TraceWriter, evaluate, location_thought, supervised_set,
};

use crate::live::Counting;
use crate::recipe::Run;
use crate::records::{self, LastRollouts, Recorder, RolloutEar, Totals};

/// Sequences in a step of supervised fine-tuning.
const SFT_BATCH: usize = 8;
/// Least share of its peak that the rate of fine-tuning falls to.
const SFT_FLOOR: f64 = 0.2;
/// Least share of its peak that the rate of GRPO falls to.
const GRPO_FLOOR: f64 = 0.05;
/// Most tokens of a micro-batch.
const MICRO_BATCH_TOKENS: usize = 8192;
/// Fine-tuning has flattened when the validation reward of the last two rounds is not above that
/// of the two before by this much.
const FLAT: f64 = 0.02;

/// Progress of supervised fine-tuning, kept for a resumed run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct WarmStart {
    /// Validation reward after each round.
    rewards: Vec<f64>,
    done: bool,
    steps: u64,
}

impl Run<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.arguments.out.join(name)
    }

    fn sampler(&self) -> LocalSampler<Arc<Tokenizer>> {
        LocalSampler::new(
            Arc::clone(&self.tokenizer),
            LocalLimits { max_rows: 128, max_tokens: 1 << 17 },
        )
    }

    /// One sample for each of `seeds` at temperature 1; `None` when stopped.
    pub(crate) fn evaluate(
        &self,
        name: &str,
        policy: &CausalLm,
        seeds: &[SeedExample],
    ) -> Result<Option<Evaluation>> {
        let path = self.path(&format!("evaluation-{name}.json"));
        if let Some(known) = records::read(&path)? {
            return Ok(Some(known));
        }
        let result = self.sample(name, policy, seeds)?;
        if let Some(result) = &result {
            records::write(&path, result)?;
            self.live.say(&format!(
                "{name:>8}: valid {:5.1}%  reward {:+.3}  exact {:5.1}%",
                100.0 * result.format_valid(),
                result.reward_mean(),
                100.0 * result.exact()
            ));
        }
        Ok(result)
    }

    fn sample(
        &self,
        name: &str,
        policy: &CausalLm,
        seeds: &[SeedExample],
    ) -> Result<Option<Evaluation>> {
        self.live.begin(&format!("evaluate {name}"), seeds.len() as u64);
        let settings = EvaluationSettings {
            params: self.params.clone(),
            seed: self.arguments.seed,
            shuffle_files: false,
        };
        let mut counting = Counting { live: self.live, done: 0 };
        let result = evaluate(
            &policy.valid(),
            &mut self.sampler(),
            &self.builder,
            seeds,
            &settings,
            0,
            &mut counting,
        );
        self.live.end();
        match result {
            Ok(result) => Ok(Some(result)),
            Err(_) if self.live.stopping() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The rate falls along the rounds to [`SFT_FLOOR`], where the control goes on.
    fn sft_config(&self, folder: &str, steps: u64) -> SftConfig {
        let warmup_steps = 10;
        let total_steps = (self.arguments.sft_rounds * self.round_steps()).max(warmup_steps + 1);
        let decay = Decay::Linear { total_steps, floor: SFT_FLOOR };
        SftConfig {
            epochs: u64::MAX,
            max_steps: Some(steps),
            batch: SFT_BATCH,
            packed: false,
            micro_batch_tokens: MICRO_BATCH_TOKENS,
            seed: self.arguments.seed,
            optimizer: OptimizerRule::default(),
            schedule: Schedule { peak: self.arguments.sft_lr, warmup_steps, decay },
            checkpoint: Some(CheckpointRule { folder: self.path(folder), every: 50, keep: 1 }),
            identity: self.identity.clone(),
        }
    }

    fn round_steps(&self) -> u64 {
        (self.arguments.sft_round / SFT_BATCH).max(1) as u64
    }

    fn supervised(&self) -> Result<Vec<Sequence>> {
        let settings = SftSettings {
            stop_id: self.tokenizer.eos_ids()[0],
            max_answer_tokens: self.arguments.answer_tokens,
            seed: self.arguments.seed,
            shuffle_files: false,
        };
        let (examples, skipped) =
            supervised_set(&self.builder, &self.data.sft, &location_thought, &settings);
        ensure!(!examples.is_empty(), "no seed gives a supervised example: {skipped:?}");
        Ok(examples.into_iter().map(|e| e.sequence).collect())
    }

    /// Supervised fine-tuning in rounds, until the validation reward flattens.
    pub(crate) fn warm_start(&self, mut policy: CausalLm) -> Result<Option<(CausalLm, WarmStart)>> {
        let sequences = self.supervised()?;
        let state_path = self.path("sft.json");
        let mut state: WarmStart = records::read(&state_path)?.unwrap_or_default();
        let round_steps = self.round_steps();
        let none = LastRollouts::default();
        loop {
            let rounds = state.rewards.len() as u64 + u64::from(!state.done);
            let steps = rounds * round_steps;
            let done = newest_step(&self.path("sft"))?;
            let mut recorder =
                Recorder::new(self.live, &self.arguments.out, "sft", done, steps, &none)?;
            self.live.begin("SFT", steps);
            let config = self.sft_config("sft", steps);
            let trained = sft(policy, &sequences, &mut recorder, &config, &Resume::Latest)?;
            self.live.end();
            policy = trained.policy;
            if trained.end == End::Stopped {
                return Ok(None);
            }
            if state.done {
                return Ok(Some((policy, state)));
            }
            let name = format!("validation {rounds}");
            let Some(result) = self.sample(&name, &policy, &self.data.validation)? else {
                return Ok(None);
            };
            state.steps = trained.steps;
            state.rewards.push(result.reward_mean());
            state.done = flattened(&state.rewards) || rounds >= self.arguments.sft_rounds;
            records::write(&state_path, &state)?;
            self.live.say(&format!(
                "SFT round {rounds}: validation reward {:+.3}, valid {:.0}%",
                result.reward_mean(),
                100.0 * result.format_valid()
            ));
            if state.done {
                return Ok(Some((policy, state)));
            }
        }
    }

    /// A short rise, then a line that reaches nearly 0 with the last step.
    fn grpo_schedule(&self) -> Schedule {
        let (peak, warmup_steps) = (self.arguments.lr, 3);
        let total_steps = self.arguments.steps.max(warmup_steps + 1);
        Schedule { peak, warmup_steps, decay: Decay::Linear { total_steps, floor: GRPO_FLOOR } }
    }

    /// GRPO from the warm start.
    pub(crate) fn grpo(&self, policy: CausalLm) -> Result<Option<(CausalLm, Totals)>> {
        let a = self.arguments;
        let mut objective = Preset::SweRl.objective();
        // The paper's beta is not published.
        objective.loss.kl = objective
            .loss
            .kl
            .filter(|_| a.kl > 0.0)
            .map(|kl| swerl_grpo::loss::Kl { coefficient: a.kl, ..kl });
        let reference = objective.loss.kl.map(|_| policy.clone());
        let config = TrainConfig {
            steps: a.steps,
            objective,
            supervised_weight: a.sft_weight,
            epochs: a.epochs,
            minibatches: 1,
            optimizer: OptimizerRule::default(),
            schedule: self.grpo_schedule(),
            temperature: 1.0,
            micro_batch_tokens: MICRO_BATCH_TOKENS,
            sampler_check: Some(SamplerCheck { mean: 1e-4, max: 1e-2 }),
            checkpoint: Some(CheckpointRule { folder: self.path("grpo"), every: 5, keep: 2 }),
            identity: self.identity.clone(),
        };
        let first = newest_step(&self.path("grpo"))?;
        let trace_path = self.path("rollouts.jsonl");
        let trace = if first == 0 {
            TraceWriter::create(&trace_path)
        } else {
            TraceWriter::resume(&trace_path, first)
        }?;
        let settings = CollectSettings {
            samples_per_prompt: a.samples,
            params: self.params.clone(),
            seed: a.seed,
            shuffle_files: false,
            control: if a.permute_rewards {
                RewardControl::PermutedInGroup
            } else {
                RewardControl::AsScored
            },
        };
        let last = LastRollouts::default();
        let mut ear = RolloutEar { last: &last };
        let mut source = SeedRollouts::new(
            &self.data.grpo,
            self.sampler(),
            self.builder.clone(),
            settings,
            a.prompts,
        )?
        .with_trace(trace)
        .with_observer(&mut ear);
        if a.sft_weight > 0.0 {
            source = source.with_supervised(self.supervised()?, a.sft_answers);
        }
        let mut recorder = Recorder::new(self.live, &a.out, "grpo", first, a.steps, &last)?;
        self.live.begin("GRPO", a.steps);
        let trained = train(
            policy,
            reference.as_ref(),
            &mut source,
            &mut recorder,
            &config,
            &Resume::Latest,
        )?;
        self.live.end();
        Ok((trained.end == End::Finished).then_some((trained.policy, recorder.totals)))
    }

    /// Supervised fine-tuning carried on from the warm start for as many tokens as GRPO trained on.
    pub(crate) fn control(
        &self,
        policy: CausalLm,
        warm: &WarmStart,
        grpo: &Totals,
    ) -> Result<Option<Evaluation>> {
        let path = self.path("evaluation-control.json");
        if let Some(known) = records::read(&path)? {
            return Ok(Some(known));
        }
        let sequences = self.supervised()?;
        let tokens: usize = sequences.iter().map(|s| s.tokens.len()).sum();
        let length = (tokens as f64 / sequences.len() as f64).max(1.0);
        let a = self.arguments;
        let answers = if a.sft_weight > 0.0 { a.steps * a.sft_answers as u64 } else { 0 };
        let trained = grpo.trained_tokens as f64 + answers as f64 * length;
        let steps = warm.steps + (trained / (length * SFT_BATCH as f64)).ceil() as u64;
        let none = LastRollouts::default();
        let done = newest_step(&self.path("control"))?;
        let warm_start = swerl_grpo::checkpoint::list(&self.path("sft"))?.pop();
        let resume = match warm_start {
            Some(saved) if done == 0 => Resume::From(saved.path),
            _ => Resume::Latest,
        };
        let mut recorder =
            Recorder::new(self.live, &self.arguments.out, "control", done, steps, &none)?;
        self.live.begin("SFT control", steps);
        let trained =
            sft(policy, &sequences, &mut recorder, &self.sft_config("control", steps), &resume)?;
        self.live.end();
        if trained.end == End::Stopped {
            return Ok(None);
        }
        self.evaluate("control", &trained.policy, &self.data.held_out)
    }
}

/// Whether the last two rounds are no better than the two before by more than [`FLAT`].
fn flattened(rewards: &[f64]) -> bool {
    let n = rewards.len();
    n >= 4 && {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        mean(&rewards[n - 2..]) < mean(&rewards[n - 4..n - 2]) + FLAT
    }
}

/// Steps done by the newest checkpoint in `folder`.
fn newest_step(folder: &Path) -> Result<u64> {
    if !folder.exists() {
        return Ok(0);
    }
    Ok(swerl_grpo::checkpoint::list(folder)?.last().map_or(0, |saved| saved.step))
}
