//! The learning rate as a function of the step number, and of nothing else.
//!
//! ```text
//! step < warmup:  peak * (step + 1) / warmup
//! constant:       peak
//! linear:         peak * max(floor, 1 - (step - warmup) / (total - warmup))
//! ```
//! Stateless, so a resumed run needs only its step number. The total is a field of its own: asking
//! for more steps later does not change the rates of the steps already done.

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// What happens after the warmup.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decay {
    /// The peak throughout.
    Constant,
    /// A straight line from the peak towards 0.
    Linear {
        /// The step at which the line reaches 0; more than the warmup.
        total_steps: u64,
        /// Least share of the peak, from 0 to 1.
        floor: f64,
    },
}

/// A learning-rate schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Highest learning rate, above 0. Usual: 1e-6 for full-parameter GRPO of billions of
    /// parameters, 1e-5 for their fine-tuning, up to 1e-3 for models of a few millions.
    pub peak: f64,
    /// Number of steps that rise linearly to the peak; 0 for none.
    pub warmup_steps: u64,
    /// What follows.
    pub decay: Decay,
}

impl Schedule {
    /// A constant rate without warmup.
    #[must_use]
    pub fn constant(peak: f64) -> Self {
        Self { peak, warmup_steps: 0, decay: Decay::Constant }
    }

    /// The learning rate of step `step`, counted from 0.
    ///
    /// ```
    /// use swerl_grpo::schedule::{Decay, Schedule};
    ///
    /// let decay = Decay::Linear { total_steps: 6, floor: 0.0 };
    /// let schedule = Schedule { peak: 1.0, warmup_steps: 2, decay };
    /// let rates: Vec<f64> = (0..7).map(|step| schedule.rate(step)).collect();
    /// assert_eq!(rates, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]);
    /// ```
    #[must_use]
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.warmup_steps {
            return self.peak * (step + 1) as f64 / self.warmup_steps as f64;
        }
        match self.decay {
            Decay::Constant => self.peak,
            Decay::Linear { total_steps, floor } => {
                let span = total_steps.saturating_sub(self.warmup_steps).max(1);
                let done = (step - self.warmup_steps) as f64 / span as f64;
                self.peak * (1.0 - done).max(floor)
            }
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::above("schedule.peak", self.peak, 0.0)?;
        if let Decay::Linear { total_steps, floor } = self.decay {
            ConfigError::within("schedule.decay.floor", floor, 0.0, 1.0)?;
            if total_steps <= self.warmup_steps {
                return Err(ConfigError::Range {
                    field: "schedule.decay.total_steps",
                    value: total_steps as f64,
                    allowed: format!("more than warmup_steps = {}", self.warmup_steps),
                });
            }
        }
        Ok(())
    }
}
