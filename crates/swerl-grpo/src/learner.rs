//! The part that both kinds of training share: weights, optimizer, step number, checkpoints.

use std::path::PathBuf;

use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use serde_json::Value;

use crate::checkpoint::{self, CheckpointError, CheckpointState, RunKind, SavedCheckpoint};
use crate::config::CheckpointRule;
use crate::error::TrainError;
use crate::observe::Observer;
use crate::optimizer::{OptimizerRule, clip_global_norm, global_norm};
use crate::policy::PolicyError;
use crate::schedule::Schedule;

/// Where a run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// From the weights passed in; refused when the checkpoint folder holds checkpoints.
    Fresh,
    /// From the newest checkpoint in the configured folder; fresh when there is none.
    Latest,
    /// From this checkpoint.
    From(PathBuf),
}

/// How a run ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All steps are done.
    Finished,
    /// The observer asked to stop.
    Stopped,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Trained<P> {
    /// The trained policy.
    pub policy: P,
    /// Number of steps done, those before a resume included.
    pub steps: u64,
    /// Number of steps done by this call.
    pub steps_run: u64,
    /// How it ended.
    pub end: End,
    /// The newest checkpoint, when checkpoints are configured.
    pub checkpoint: Option<SavedCheckpoint>,
}

pub(crate) struct Learner<P> {
    pub(crate) policy: P,
    /// Number of steps done.
    pub(crate) step: u64,
    first: u64,
    optimizer: ModuleOptimizer,
    rule: OptimizerRule,
    schedule: Schedule,
    kind: RunKind,
    config: Value,
    checkpoints: Option<CheckpointRule>,
    saved: Option<SavedCheckpoint>,
}

impl<P: Module> Learner<P> {
    /// Loads what `resume` says, or starts with `policy`. `config` is the configuration; its
    /// fields `without` do not determine the future.
    pub(crate) fn start(
        policy: P,
        resume: &Resume,
        kind: RunKind,
        config: &impl serde::Serialize,
        without: &[&str],
        (rule, schedule, checkpoints): (OptimizerRule, Schedule, Option<&CheckpointRule>),
    ) -> Result<Self, TrainError> {
        let mut config =
            serde_json::to_value(config).map_err(|source| CheckpointError::Encode { source })?;
        if let Value::Object(fields) = &mut config {
            for field in without {
                fields.remove(*field);
            }
        }
        let newest = |rule: &CheckpointRule| checkpoint::list(&rule.folder);
        let from = match (resume, checkpoints) {
            (Resume::From(path), _) => Some(path.clone()),
            (Resume::Latest, Some(rule)) => newest(rule)?.pop().map(|found| found.path),
            (Resume::Fresh, Some(rule)) if !newest(rule)?.is_empty() => {
                let folder = rule.folder.clone();
                return Err(CheckpointError::Occupied { folder }.into());
            }
            _ => None,
        };
        let mut learner = Self {
            optimizer: rule.build(&policy),
            policy,
            step: 0,
            first: 0,
            rule,
            schedule,
            kind,
            config,
            checkpoints: checkpoints.cloned(),
            saved: None,
        };
        if let Some(path) = from {
            let state = checkpoint::read_state(&path)?;
            let differences = state.differences(&learner.state());
            if !differences.is_empty() {
                return Err(CheckpointError::Mismatch { path, differences }.into());
            }
            learner.policy = checkpoint::load_policy(&path, learner.policy)?;
            // Built again: the loaded parameters carry the ids of the checkpoint.
            learner.optimizer = checkpoint::load_optimizer(&path, rule.build(&learner.policy))?;
            learner.step = state.step;
            learner.first = state.step;
            learner.saved = Some(SavedCheckpoint { path, step: state.step });
        }
        Ok(learner)
    }

    fn state(&self) -> CheckpointState {
        CheckpointState::new(
            self.kind,
            self.step,
            self.config.clone(),
            checkpoint::parameter_shapes(&self.policy),
        )
    }

    /// Clips `gradients`; the norm before.
    pub(crate) fn clip(&self, gradients: &mut GradientsParams) -> Result<f64, PolicyError> {
        match self.rule.max_grad_norm {
            Some(most) => clip_global_norm(&self.policy, gradients, most),
            None => global_norm(&self.policy, gradients),
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        self.schedule.rate(self.step)
    }

    /// Applies `gradients`.
    pub(crate) fn update(mut self, gradients: GradientsParams) -> Self {
        let rate = self.rate();
        self.policy = self.optimizer.step(rate, self.policy, gradients);
        self
    }

    /// Counts the step.
    pub(crate) fn advance(mut self) -> Self {
        self.step += 1;
        self
    }

    /// Saves when a checkpoint is due, or `last` asks for one and there is none of this step.
    pub(crate) fn save<O: Observer + ?Sized>(
        &mut self,
        last: bool,
        observer: &mut O,
    ) -> Result<(), TrainError> {
        let Some(rule) = &self.checkpoints else {
            return Ok(());
        };
        let there = self.saved.as_ref().is_some_and(|saved| {
            saved.step == self.step && saved.path.parent() == Some(rule.folder.as_path())
        });
        let due = last || self.step.is_multiple_of(rule.every);
        if !due || there {
            return Ok(());
        }
        let state = self.state();
        let saved =
            checkpoint::save(&rule.folder, rule.keep, &self.policy, &self.optimizer, &state)?;
        let step = self.step;
        observer.on_checkpoint(&saved).map_err(|source| TrainError::Observer { step, source })?;
        self.saved = Some(saved);
        Ok(())
    }

    pub(crate) fn finish(self, end: End) -> Trained<P> {
        Trained {
            policy: self.policy,
            steps: self.step,
            steps_run: self.step - self.first,
            end,
            checkpoint: self.saved,
        }
    }
}
