//! What a run tells its surroundings, and how they stop it.
//!
//! The trainer writes no metrics file and prints nothing: an [`Observer`] does. Asked to stop (say
//! by Ctrl-C), the trainer finishes its step, saves a checkpoint and returns.

use crate::advantage::Advantages;
use crate::checkpoint::SavedCheckpoint;
use crate::error::ObserverError;
use crate::metrics::{SftMetrics, StepMetrics};
use crate::sequence::Group;

/// Follows a run. Every method has a default that does nothing.
///
/// An error ends the run with [`crate::TrainError::Observer`]; the step it belongs to is done.
pub trait Observer {
    /// After each GRPO step.
    ///
    /// # Errors
    /// Whatever keeps the observer from recording it.
    fn on_step(&mut self, metrics: &StepMetrics) -> Result<(), ObserverError> {
        let _ = metrics;
        Ok(())
    }

    /// After each fine-tuning step.
    ///
    /// # Errors
    /// Whatever keeps the observer from recording it.
    fn on_sft_step(&mut self, metrics: &SftMetrics) -> Result<(), ObserverError> {
        let _ = metrics;
        Ok(())
    }

    /// When the groups of step `step` (from 0) have their advantages, before the update.
    ///
    /// # Errors
    /// Whatever keeps the observer from recording it.
    fn on_groups(
        &mut self,
        step: u64,
        groups: &[Group],
        advantages: &[Advantages],
    ) -> Result<(), ObserverError> {
        let _ = (step, groups, advantages);
        Ok(())
    }

    /// When a checkpoint is complete on disk.
    ///
    /// # Errors
    /// Whatever keeps the observer from recording it.
    fn on_checkpoint(&mut self, checkpoint: &SavedCheckpoint) -> Result<(), ObserverError> {
        let _ = checkpoint;
        Ok(())
    }

    /// Asked before each step; `true` ends the run after saving.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Follows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
