//! The loss's configuration: each part named, none with a default that changes the objective.

use serde::{Deserialize, Serialize};

use super::{Aggregation, CispoBound, Kl, RatioLevel, Surrogate, TruncatedImportance};
use crate::error::ConfigError;

/// Which log-probs the ratio's denominator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldLogProbs {
    /// The trainer's own at the weights that the batch starts with. With one update per batch they
    /// are the current ones without their graph, and the ratio is exactly 1.
    Current,
    /// Those that the sampler reported.
    Behaviour,
}

/// The loss. No default: it changes the objective.
///
/// Strict when read: a key that is not here is an error, and so is a second surrogate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossRule {
    /// Whether the ratio is taken by token or by sequence.
    pub ratio: RatioLevel,
    /// The ratio's denominator.
    pub old: OldLogProbs,
    /// The policy-gradient term and its trust region: the key `clip`, `cispo` or `mask`.
    #[serde(flatten)]
    pub surrogate: Surrogate,
    /// How tokens are averaged.
    pub aggregation: Aggregation,
    /// KL penalty towards a reference policy; `None` keeps no reference.
    pub kl: Option<Kl>,
    /// Coefficient of the entropy bonus, in reward units per nat, at least 0. Usual: 0.
    pub entropy: f64,
    /// Weight for a sampler that is not the trainer's policy to the bit; `None` trusts it. Without
    /// effect, hence refused, where `old` is the sampler's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_importance: Option<TruncatedImportance>,
    /// Coefficient of the squared log-ratio to the sampler, `drift * (lp - behaviour)^2` a token,
    /// in reward units per nat squared, above 0; `None` for none. It pulls back the tokens that
    /// have moved since they were sampled. prime-rl: 1e-3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
}

impl LossRule {
    /// Whether the sampler's log-probs enter the loss.
    #[must_use]
    pub fn reads_sampler(&self) -> bool {
        self.old == OldLogProbs::Behaviour
            || self.truncated_importance.is_some()
            || self.drift.is_some()
    }

    /// Whether a sample with advantage 0 has a gradient: there is a term besides the surrogate.
    #[must_use]
    pub fn trains_without_advantage(&self) -> bool {
        self.kl.is_some() || self.entropy != 0.0 || self.drift.is_some()
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self.surrogate {
            Surrogate::Clip(clip) => {
                ConfigError::within("loss.clip.low", clip.low, 0.0, 1.0)?;
                ConfigError::not_negative("loss.clip.high", clip.high)?;
                if let Some(dual) = clip.dual {
                    ConfigError::above("loss.clip.dual", dual, 1.0)?;
                }
            }
            Surrogate::Cispo(CispoBound::Relative { low, high }) => {
                ConfigError::within("loss.cispo.relative.low", low, 0.0, 1.0)?;
                ConfigError::not_negative("loss.cispo.relative.high", high)?;
            }
            Surrogate::Cispo(CispoBound::Absolute { cap }) => {
                ConfigError::above("loss.cispo.absolute.cap", cap, 0.0)?;
            }
            Surrogate::Mask(mask) => {
                ConfigError::within("loss.mask.low", mask.low, 0.0, 1.0)?;
                ConfigError::within("loss.mask.high", mask.high, 0.0, 1.0)?;
            }
        }
        if let Aggregation::Constant { length } = self.aggregation {
            ConfigError::above("loss.aggregation.length", f64::from(length), 0.0)?;
        }
        if let Some(kl) = &self.kl {
            ConfigError::above("loss.kl.coefficient", kl.coefficient, 0.0)?;
            if let Some(clamp) = kl.clamp {
                ConfigError::above("loss.kl.clamp", clamp, 0.0)?;
            }
        }
        ConfigError::not_negative("loss.entropy", self.entropy)?;
        if let Some(rule) = &self.truncated_importance {
            ConfigError::above("loss.truncated_importance.cap", rule.cap, 0.0)?;
            if self.old == OldLogProbs::Behaviour {
                return Err(ConfigError::ImportanceUnused);
            }
        }
        if let Some(drift) = self.drift {
            ConfigError::above("loss.drift", drift, 0.0)?;
        }
        Ok(())
    }
}
