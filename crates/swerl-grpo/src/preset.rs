//! Objectives by name: advantage and loss as a published method or another trainer has them.
//!
//! A run file that names one says what it optimises. Each is the part of that method which the
//! objective covers; data-side parts (DAPO's dynamic sampling and overlong reward shaping) are
//! not. What a source leaves open is said at the variant.

use serde::{Deserialize, Serialize};

use crate::advantage::{AdvantageRule, Baseline, Scale};
use crate::error::ConfigError;
use crate::loss::{Aggregation, Clip, Kl, KlEstimator, LossRule, OldLogProbs, RatioLevel};

/// What is optimised: how rewards become advantages, and these a loss. No default.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Rewards to advantages.
    pub advantage: AdvantageRule,
    /// Advantages to the loss.
    pub loss: LossRule,
}

/// A named objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Preset {
    /// SWE-RL, eq. 2: population std, ratio of the whole sequence, mean over outputs, KL. The
    /// paper leaves open epsilon, beta and the estimator: 0.2, 0.001 and k3 here.
    SweRl,
    /// TRL 1.x: sample std plus 1e-4, token ratio, token mean, no KL.
    Trl,
    /// verl: sample std plus 1e-6, token ratio, token mean, dual clip at 3, no KL.
    Verl,
    /// DAPO: sample std plus 1e-6, token ratio, token mean, clip 0.2 below and 0.28 above, no KL.
    Dapo,
    /// Dr. GRPO: no std, token ratio, sum over tokens by a constant length, no KL.
    DrGrpo {
        /// The constant, in tokens: the longest completion allowed.
        length: u32,
    },
}

/// Rewards whose range is at most this count as equal in every preset.
pub const TOLERANCE: f64 = 1e-6;

impl Preset {
    /// The objective behind the name.
    #[must_use]
    pub fn objective(self) -> Objective {
        let advantage =
            |scale| AdvantageRule { baseline: Baseline::Mean, scale, tolerance: TOLERANCE };
        let clip = |high, dual| Clip { low: 0.2, high, dual };
        let loss = |clip, aggregation| LossRule {
            ratio: RatioLevel::Token,
            old: OldLogProbs::Current,
            clip,
            aggregation,
            kl: None,
            entropy: 0.0,
        };
        match self {
            Self::SweRl => Objective {
                advantage: advantage(Scale::Std { ddof: 0, eps: 0.0 }),
                loss: LossRule {
                    ratio: RatioLevel::Sequence,
                    kl: Some(Kl { estimator: KlEstimator::K3, coefficient: 0.001, clamp: None }),
                    ..loss(clip(0.2, None), Aggregation::SequenceMean)
                },
            },
            Self::Trl => Objective {
                advantage: advantage(Scale::Std { ddof: 1, eps: 1e-4 }),
                loss: loss(clip(0.2, None), Aggregation::TokenMean),
            },
            Self::Verl => Objective {
                advantage: advantage(Scale::Std { ddof: 1, eps: 1e-6 }),
                loss: loss(clip(0.2, Some(3.0)), Aggregation::TokenMean),
            },
            Self::Dapo => Objective {
                advantage: advantage(Scale::Std { ddof: 1, eps: 1e-6 }),
                loss: loss(clip(0.28, None), Aggregation::TokenMean),
            },
            Self::DrGrpo { length } => Objective {
                advantage: advantage(Scale::None),
                loss: loss(clip(0.2, None), Aggregation::Constant { length }),
            },
        }
    }
}

impl Objective {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::not_negative("advantage.tolerance", self.advantage.tolerance)?;
        if let Scale::Std { ddof, eps } = self.advantage.scale {
            ConfigError::within("advantage.scale.ddof", f64::from(ddof), 0.0, 1.0)?;
            ConfigError::not_negative("advantage.scale.eps", eps)?;
        }
        let loss = &self.loss;
        ConfigError::within("loss.clip.low", loss.clip.low, 0.0, 1.0)?;
        ConfigError::not_negative("loss.clip.high", loss.clip.high)?;
        if let Some(dual) = loss.clip.dual {
            ConfigError::above("loss.clip.dual", dual, 1.0)?;
        }
        if let Aggregation::Constant { length } = loss.aggregation {
            ConfigError::above("loss.aggregation.length", f64::from(length), 0.0)?;
        }
        if let Some(kl) = &loss.kl {
            ConfigError::above("loss.kl.coefficient", kl.coefficient, 0.0)?;
            if let Some(clamp) = kl.clamp {
                ConfigError::above("loss.kl.clamp", clamp, 0.0)?;
            }
        }
        ConfigError::not_negative("loss.entropy", loss.entropy)
    }
}
