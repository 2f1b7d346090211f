//! Configurations of [`crate::train()`] and [`crate::sft()`].
//!
//! Plain structs with strict keys. What changes the objective has no default. [`TrainConfig`] and
//! [`SftConfig`] tell their checkpoints everything that determines the future; how many steps to
//! do and where checkpoints lie is not among it, so a run may be extended or moved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::optimizer::OptimizerRule;
use crate::preset::Objective;
use crate::schedule::Schedule;

/// Where and how often checkpoints are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRule {
    /// Folder of the checkpoints, one folder each; made if missing.
    pub folder: PathBuf,
    /// A checkpoint after every so many steps, above 0; there is always one at the end.
    pub every: u64,
    /// Number of newest checkpoints kept, above 0.
    pub keep: usize,
}

impl CheckpointRule {
    fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::above("checkpoint.every", self.every as f64, 0.0)?;
        ConfigError::above("checkpoint.keep", self.keep as f64, 0.0)
    }
}

/// How far sampler and trainer may differ on the log-probs of the same weights.
///
/// Checked on sequences whose `weights_version` is the number of steps done. A difference means a
/// wrong temperature, a mask that is off by one, an end token without log-prob or weights that
/// never arrived; training goes on silently wrong without the check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplerCheck {
    /// Largest mean absolute difference in nats. 1e-4 for f32 on both sides, 0.05 for bf16.
    pub mean: f64,
    /// Largest absolute difference in nats at one token. 1e-2 for f32 on both sides, 1 for bf16.
    pub max: f64,
}

/// Configuration of [`crate::train()`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Number of steps of the whole run, those before a resume included.
    pub steps: u64,
    /// What is optimised.
    pub objective: Objective,
    /// Weight of a supervised term in each update, 0 for none: it adds
    /// `-weight * mean over answers of log p(answer)`, over the sequences that the source gives with
    /// [`crate::train::RolloutSource::supervised`] (arXiv:2203.02155, eq. 2, its pretraining term).
    pub supervised_weight: f64,
    /// Passes over a step's batch, above 0; the paper makes one.
    pub epochs: u64,
    /// Updates in a pass, above 0: the groups are cut, in order, into so many parts of about equal
    /// count, each with its own denominators. Parts beyond the number of groups do not exist.
    pub minibatches: usize,
    /// The optimizer.
    pub optimizer: OptimizerRule,
    /// The learning rate.
    pub schedule: Schedule,
    /// Temperature of the distribution sampled from, above 0; log-probs are taken at it.
    pub temperature: f32,
    /// Most tokens of a micro-batch, padding included, above 0. Bounds the memory of a pass; the
    /// gradients do not depend on it but for rounding.
    pub micro_batch_tokens: usize,
    /// The check of sampler against trainer; `None` when the sampler gives no log-probs.
    pub sampler_check: Option<SamplerCheck>,
    /// Checkpoints; `None` writes none.
    pub checkpoint: Option<CheckpointRule>,
    /// What else determines the run (seed, model, data digest), compared when resuming.
    pub identity: BTreeMap<String, String>,
}

impl TrainConfig {
    /// One update per batch at temperature 1, no supervised term, micro-batches of 16,384 tokens, AdamW as
    /// [`OptimizerRule::default`], a sampler in f32 that gives log-probs, no checkpoints.
    #[must_use]
    pub fn new(steps: u64, objective: Objective, schedule: Schedule) -> Self {
        Self {
            steps,
            objective,
            supervised_weight: 0.0,
            epochs: 1,
            minibatches: 1,
            optimizer: OptimizerRule::default(),
            schedule,
            temperature: 1.0,
            micro_batch_tokens: 16_384,
            sampler_check: Some(SamplerCheck { mean: 1e-4, max: 1e-2 }),
            checkpoint: None,
            identity: BTreeMap::new(),
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.objective.validate()?;
        self.optimizer.validate()?;
        self.schedule.validate()?;
        ConfigError::above("temperature", f64::from(self.temperature), 0.0)?;
        ConfigError::not_negative("supervised_weight", self.supervised_weight)?;
        ConfigError::above("epochs", self.epochs as f64, 0.0)?;
        ConfigError::above("minibatches", self.minibatches as f64, 0.0)?;
        ConfigError::above("micro_batch_tokens", self.micro_batch_tokens as f64, 0.0)?;
        if let Some(check) = &self.sampler_check {
            ConfigError::not_negative("sampler_check.mean", check.mean)?;
            ConfigError::not_negative("sampler_check.max", check.max)?;
        }
        self.checkpoint.as_ref().map_or(Ok(()), CheckpointRule::validate)
    }
}

/// Configuration of [`crate::sft()`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftConfig {
    /// Number of passes over the data, above 0.
    pub epochs: u64,
    /// Ends the run after so many steps at the latest; `None` for all epochs.
    pub max_steps: Option<u64>,
    /// Sequences per step, above 0. An epoch's last step takes what is left.
    pub batch: usize,
    /// Whether a micro-batch is one row of sequences side by side instead of a row each.
    pub packed: bool,
    /// Most tokens of a micro-batch, padding included, above 0.
    pub micro_batch_tokens: usize,
    /// Seed of the order of the data.
    pub seed: u64,
    /// The optimizer.
    pub optimizer: OptimizerRule,
    /// The learning rate.
    pub schedule: Schedule,
    /// Checkpoints; `None` writes none.
    pub checkpoint: Option<CheckpointRule>,
    /// What else determines the run (model, tokenizer), compared when resuming.
    pub identity: BTreeMap<String, String>,
}

impl SftConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::above("epochs", self.epochs as f64, 0.0)?;
        ConfigError::above("batch", self.batch as f64, 0.0)?;
        ConfigError::above("micro_batch_tokens", self.micro_batch_tokens as f64, 0.0)?;
        self.optimizer.validate()?;
        self.schedule.validate()?;
        self.checkpoint.as_ref().map_or(Ok(()), CheckpointRule::validate)
    }
}
