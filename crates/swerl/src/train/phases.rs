//! The phases of the recipe: evaluation, warm start, GRPO and the supervised control.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, ensure};
use burn::module::Module;
use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::optimizer::UpdateOn;
use swerl_grpo::{
    CheckpointRule, Decay, End, OptimizerRule, Resume, SamplerCheck, Schedule, Sequence, SftConfig,
    TrainConfig, sft, train,
};
use swerl_model::{CausalLm, Tokenizer};
use swerl_rollout::{
    CollectSettings, Evaluation, EvaluationSettings, ExternalReward, LocalLimits, LocalSampler,
    RewardCommand, RewardControl, SamplingParams, SeedRollouts, SftSettings, TraceWriter, evaluate,
    location_thought, supervised_set,
};

use super::config::{SftSection, Thought};
use super::device::Backend;
use super::live::Counting;
use super::recipe::Run;
use super::records::{self, LastRollouts, Recorder, RolloutEar, Totals};

/// Least share of its peak that the rate of fine-tuning falls to.
const SFT_FLOOR: f64 = 0.2;
/// Least share of its peak that the rate of GRPO falls to.
const GRPO_FLOOR: f64 = 0.05;
/// Most sequences decoded at once.
const MAX_ROWS: usize = 128;
/// Most tokens whose keys and values are held at once.
const MAX_CACHED_TOKENS: usize = 1 << 17;
/// Fine-tuning has flattened when the validation reward of the last two rounds is not above that
/// of the two before by this much.
const FLAT: f64 = 0.02;

/// Progress of supervised fine-tuning, kept for a resumed run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WarmStart {
    /// Validation reward after each round.
    rewards: Vec<f64>,
    done: bool,
    steps: u64,
}

impl Run<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    fn sampler(&self) -> LocalSampler<Arc<Tokenizer>> {
        LocalSampler::new(
            Arc::clone(&self.tokenizer),
            LocalLimits { max_rows: MAX_ROWS, max_tokens: MAX_CACHED_TOKENS },
        )
    }

    /// One sample for each of `seeds` at temperature 1; `None` when stopped.
    pub(super) fn evaluate(
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
            seed: self.config.seed,
            shuffle_files: self.config.prompt.shuffle_files,
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
    fn sft_config(&self, sft: &SftSection, folder: &str, steps: u64) -> SftConfig {
        let warmup_steps = 10;
        let total_steps = (sft.rounds * round_steps(sft)).max(warmup_steps + 1);
        let decay = Decay::Linear { total_steps, floor: SFT_FLOOR };
        SftConfig {
            epochs: u64::MAX,
            max_steps: Some(steps),
            batch: sft.batch,
            packed: false,
            micro_batch_tokens: self.config.grpo.micro_batch_tokens,
            seed: self.config.seed,
            optimizer: self.update_on(OptimizerRule::default()),
            schedule: Schedule { peak: sft.lr, warmup_steps, decay },
            checkpoint: Some(CheckpointRule { folder: self.path(folder), every: 50, keep: 1 }),
            identity: self.identity.clone(),
        }
    }

    /// The rule, computed where it is fastest.
    fn update_on(&self, rule: OptimizerRule) -> OptimizerRule {
        match self.config.model.backend {
            Backend::Flex => OptimizerRule { update_on: UpdateOn::Host, ..rule },
            _ => rule,
        }
    }

    fn supervised(&self, sft: &SftSection) -> Result<Vec<Sequence>> {
        let settings = SftSettings {
            stop_id: self.tokenizer.eos_ids()[0],
            max_answer_tokens: self.config.prompt.answer_tokens,
            seed: self.config.seed,
            shuffle_files: self.config.prompt.shuffle_files,
        };
        let none = |_: &SeedExample| String::new();
        let thought: &(dyn Fn(&SeedExample) -> String + Sync) = match sft.thought {
            Thought::Location => &location_thought,
            Thought::None => &none,
        };
        let (examples, skipped) =
            supervised_set(&self.builder, &self.seeds.sft, thought, &settings);
        ensure!(
            !examples.is_empty(),
            "no seed gives a supervised example ({skipped:?}): raise prompt.answer_tokens or prompt.prompt_tokens"
        );
        Ok(examples.into_iter().map(|e| e.sequence).collect())
    }

    /// Supervised fine-tuning in rounds, until the validation reward flattens.
    pub(super) fn warm_start(
        &self,
        sft_section: &SftSection,
        mut policy: CausalLm,
    ) -> Result<Option<(CausalLm, WarmStart)>> {
        let sequences = self.supervised(sft_section)?;
        let state_path = self.path("sft.json");
        let mut state: WarmStart = records::read(&state_path)?.unwrap_or_default();
        let round_steps = round_steps(sft_section);
        let none = LastRollouts::default();
        loop {
            let rounds = state.rewards.len() as u64 + u64::from(!state.done);
            let steps = rounds * round_steps;
            let done = newest_step(&self.path("sft"))?;
            let mut recorder = Recorder::new(self.live, &self.out, "sft", done, steps, &none)?;
            self.live.begin("SFT", steps);
            let config = self.sft_config(sft_section, "sft", steps);
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
            let Some(result) = self.sample(&name, &policy, &self.seeds.validation)? else {
                return Ok(None);
            };
            state.steps = trained.steps;
            state.rewards.push(result.reward_mean());
            state.done = flattened(&state.rewards) || rounds >= sft_section.rounds;
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
        let (peak, warmup_steps) = (self.config.grpo.lr, 3);
        let total_steps = self.config.grpo.steps.max(warmup_steps + 1);
        Schedule { peak, warmup_steps, decay: Decay::Linear { total_steps, floor: GRPO_FLOOR } }
    }

    /// GRPO from the warm start.
    pub(super) fn grpo(&self, policy: CausalLm) -> Result<Option<(CausalLm, Totals)>> {
        let grpo = &self.config.grpo;
        let mut objective = grpo.preset.objective();
        if let Some(coefficient) = grpo.kl {
            ensure!(
                coefficient == 0.0 || objective.loss.kl.is_some(),
                "grpo.kl is {coefficient}, but the preset has no KL term"
            );
            let term = objective.loss.kl.filter(|_| coefficient > 0.0);
            objective.loss.kl = term.map(|kl| swerl_grpo::loss::Kl { coefficient, ..kl });
        }
        let reference = objective.loss.kl.map(|_| policy.clone());
        let config = TrainConfig {
            steps: grpo.steps,
            objective,
            supervised_weight: grpo.sft_weight,
            epochs: grpo.epochs,
            minibatches: grpo.minibatches,
            optimizer: self.update_on(grpo.optimizer),
            schedule: self.grpo_schedule(),
            temperature: grpo.temperature as f32,
            micro_batch_tokens: grpo.micro_batch_tokens,
            sampler_check: Some(SamplerCheck { mean: 1e-4, max: 1e-2 }),
            checkpoint: Some(CheckpointRule {
                folder: self.path("grpo"),
                every: grpo.checkpoint_every,
                keep: 2,
            }),
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
            samples_per_prompt: grpo.samples,
            params: SamplingParams { temperature: grpo.temperature, ..self.params.clone() },
            seed: self.config.seed,
            shuffle_files: self.config.prompt.shuffle_files,
            control: if grpo.permute_rewards {
                RewardControl::PermutedInGroup
            } else {
                RewardControl::AsScored
            },
        };
        let last = LastRollouts::default();
        let mut ear = RolloutEar { last: &last };
        let mut source = SeedRollouts::new(
            &self.seeds.grpo,
            self.sampler(),
            self.builder.clone(),
            settings,
            grpo.prompts,
        )?
        .with_trace(trace)
        .with_observer(&mut ear);
        if let (true, Some(sft)) = (grpo.sft_weight > 0.0, &self.config.sft) {
            source = source.with_supervised(self.supervised(sft)?, grpo.sft_answers);
        }
        if let [program, arguments @ ..] = grpo.reward_command.as_slice() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let command = RewardCommand::new(program, &arguments);
            source = source.with_reward(ExternalReward::start(command)?);
        }
        let mut recorder = Recorder::new(self.live, &self.out, "grpo", first, grpo.steps, &last)?;
        self.live.begin("GRPO", grpo.steps);
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
    pub(super) fn control(
        &self,
        sft_section: &SftSection,
        policy: CausalLm,
        warm: &WarmStart,
        totals: &Totals,
    ) -> Result<Option<Evaluation>> {
        let path = self.path("evaluation-control.json");
        if let Some(known) = records::read(&path)? {
            return Ok(Some(known));
        }
        let sequences = self.supervised(sft_section)?;
        let tokens: usize = sequences.iter().map(|s| s.tokens.len()).sum();
        let length = (tokens as f64 / sequences.len() as f64).max(1.0);
        let grpo = &self.config.grpo;
        let answers = if grpo.sft_weight > 0.0 { grpo.steps * grpo.sft_answers as u64 } else { 0 };
        let trained = totals.trained_tokens as f64 + answers as f64 * length;
        let steps = warm.steps + (trained / (length * sft_section.batch as f64)).ceil() as u64;
        let none = LastRollouts::default();
        let done = newest_step(&self.path("control"))?;
        let warm_start = swerl_grpo::checkpoint::list(&self.path("sft"))?.pop();
        let resume = match warm_start {
            Some(saved) if done == 0 => Resume::From(saved.path),
            _ => Resume::Latest,
        };
        let mut recorder = Recorder::new(self.live, &self.out, "control", done, steps, &none)?;
        self.live.begin("SFT control", steps);
        let config = self.sft_config(sft_section, "control", steps);
        let trained = sft(policy, &sequences, &mut recorder, &config, &resume)?;
        self.live.end();
        if trained.end == End::Stopped {
            return Ok(None);
        }
        self.evaluate("control", &trained.policy, &self.seeds.held_out)
    }
}

fn round_steps(sft: &SftSection) -> u64 {
    (sft.round / sft.batch).max(1) as u64
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
