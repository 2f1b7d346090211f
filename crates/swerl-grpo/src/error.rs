//! Errors of training: what the caller configured, what the world did, and where.
//!
//! A completion is never an error: it arrives here as tokens and a reward. What stops a run is a
//! wrong configuration, a malformed group, a number that is not one, a sampler that disagrees with
//! the trainer, a full disk. Each names its step and, where there is one, its sample.

use std::error::Error;

use crate::batch::BatchError;
use crate::checkpoint::CheckpointError;
use crate::policy::PolicyError;

/// A configuration value outside its range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number outside its range.
    #[error("{field} = {value}: it must be {allowed}")]
    Range {
        /// Path of the field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        allowed: String,
    },
    /// The loss has a KL term, and no reference policy was given.
    #[error("loss.kl is set, but there is no reference policy: pass one, or leave loss.kl out")]
    ReferenceMissing,
    /// A reference policy was given that nothing uses.
    #[error("a reference policy was passed, but loss.kl is not set: it would only take memory")]
    ReferenceUnused,
    /// The importance weight compares the sampler's log-probs with themselves.
    #[error(
        "loss.truncated_importance is set, but loss.old is behaviour: the weight would be 1 everywhere; leave it out, or set loss.old to current"
    )]
    ImportanceUnused,
}

impl ConfigError {
    pub(crate) fn check(
        holds: bool,
        field: &'static str,
        value: f64,
        allowed: impl FnOnce() -> String,
    ) -> Result<(), Self> {
        if holds {
            return Ok(());
        }
        Err(Self::Range { field, value, allowed: allowed() })
    }

    pub(crate) fn above(field: &'static str, value: f64, bound: f64) -> Result<(), Self> {
        Self::check(value.is_finite() && value > bound, field, value, || {
            format!("above {bound} and finite")
        })
    }

    pub(crate) fn within(
        field: &'static str,
        value: f64,
        least: f64,
        most: f64,
    ) -> Result<(), Self> {
        Self::check((least..=most).contains(&value), field, value, || {
            format!("from {least} to {most}")
        })
    }

    /// At least 0 and finite.
    pub(crate) fn not_negative(field: &'static str, value: f64) -> Result<(), Self> {
        Self::check(value.is_finite() && value >= 0.0, field, value, || {
            "at least 0 and finite".to_owned()
        })
    }
}

macro_rules! opaque_error {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Box<dyn Error + Send + Sync>);

        impl $name {
            /// Wraps the cause, which stays reachable by `downcast_ref`.
            pub fn new(cause: impl Error + Send + Sync + 'static) -> Self {
                Self(Box::new(cause))
            }

            /// The cause, if it is an `E`.
            #[must_use]
            pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
                self.0.downcast_ref()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl Error for $name {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.0.source()
            }
        }
    };
}

opaque_error! {
    /// Why a [`crate::train::RolloutSource`] gave no groups: the source's own error.
    RolloutError
}
opaque_error! {
    /// Why an [`crate::observe::Observer`] ended the run: the observer's own error.
    ObserverError
}

/// Why training stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A checkpoint could not be written or resumed from.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A malformed group or sequence.
    #[error("step {step}: malformed input")]
    Batch {
        /// The step, from 0.
        step: u64,
        /// What is wrong with it.
        source: BatchError,
    },
    /// The policy failed.
    #[error("step {step}: the policy failed")]
    Policy {
        /// The step, from 0.
        step: u64,
        /// Why.
        source: PolicyError,
    },
    /// The rollout source failed.
    #[error("step {step}: collecting rollouts failed")]
    Rollout {
        /// The step, from 0.
        step: u64,
        /// Why.
        source: RolloutError,
    },
    /// The observer failed.
    #[error("step {step}: the observer failed")]
    Observer {
        /// The step, from 0.
        step: u64,
        /// Why.
        source: ObserverError,
    },
    /// The rollout source gave no group, or the data set no sequence.
    #[error("step {step}: there is nothing to train on")]
    Empty {
        /// The step, from 0.
        step: u64,
    },
    /// A group of one sequence has no advantage: there is nothing to compare it with.
    #[error("step {step}: group {id} has one sequence; sample at least two per prompt")]
    SingleMember {
        /// The step, from 0.
        step: u64,
        /// The group's name.
        id: String,
    },
    /// A value that is infinite or not a number. The weights are those before the step.
    #[error("step {step}: sequence {member} of {id}: {what} is {value}; the step was not applied")]
    NonFinite {
        /// The step, from 0.
        step: u64,
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
        /// What the value is.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// The sampler's log-probs are not the trainer's, although the weights are the same.
    #[error(
        "step {step}: sampler and trainer disagree on log-probs of the same weights: mean {mean:.3e} (allowed {mean_tolerance:.3e}), max {max:.3e} (allowed {max_tolerance:.3e}) nats, worst in sequence {member} of {id}; check temperature, masks, end tokens and weight sync"
    )]
    SamplerMismatch {
        /// The step, from 0.
        step: u64,
        /// Mean absolute difference in nats.
        mean: f64,
        /// What is allowed.
        mean_tolerance: f64,
        /// Largest absolute difference in nats.
        max: f64,
        /// What is allowed.
        max_tolerance: f64,
        /// Group of the worst token.
        id: String,
        /// Its sequence.
        member: usize,
    },
}
