//! Objectives by name: advantage and loss as a published method or another trainer has them.
//!
//! A run file that names one says what it optimises. Each is the part of that method which the
//! objective covers; the data side is its caller's: DAPO's dynamic sampling has its predicate in
//! [`crate::advantage::has_spread`], its overlong shaping is a matter of rewards. What a source
//! leaves open is said at the variant. No two are equal. With one update per batch a ratio to the
//! trainer's own old log-probs is 1, so clips act where the denominator is the sampler's:
//! `prime_rl`, `gspo` and `cispo`.

use serde::{Deserialize, Serialize};

use crate::advantage::{AdvantageRule, Baseline, Scale};
use crate::error::ConfigError;
use crate::loss::{
    Aggregation, CispoBound, Clip, Kl, KlEstimator, KlPlacement, LossRule, OldLogProbs,
    ProbabilityMask, RatioLevel, Surrogate,
};

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Preset {
    /// SWE-RL, eq. 2: population std, ratio of the whole sequence, mean over outputs, KL. The
    /// paper leaves open epsilon, beta and the estimator: 0.2, 0.001 and k3 here.
    SweRl,
    /// TRL 1.x: sample std plus 1e-4, token ratio, token mean, no KL.
    Trl,
    /// verl: sample std plus 1e-6, token ratio, token mean, dual clip at 3, no KL.
    Verl,
    /// OpenRLHF: sample std plus 1e-9, token ratio, token mean, k1 in the reward at 0.01.
    #[serde(rename = "openrlhf")]
    OpenRlhf,
    /// NeMo-RL: mean and sample std of the other members, plus 1e-6, token ratio, token mean, k3
    /// in the loss at 0.01.
    NemoRl,
    /// prime-rl: no std, ratio to the sampler, tokens masked where the probability moved by more
    /// than 0.2, token mean, 1e-3 times the squared log-ratio to the sampler.
    PrimeRl,
    /// SkyRL: sample std plus 1e-6, token ratio, token mean, k3 in the loss at 0.001.
    #[serde(rename = "skyrl")]
    SkyRl,
    /// DAPO: sample std plus 1e-6, token ratio, token mean, clip 0.2 below and 0.28 above, no KL.
    Dapo,
    /// Dr. GRPO: no std, token ratio, sum over tokens by a constant length, no KL.
    DrGrpo {
        /// The constant, in tokens: the longest completion allowed.
        length: u32,
    },
    /// GSPO: sample std plus 1e-6, length-normalised sequence ratio to the sampler, sequence mean,
    /// clip 3e-4 below and 4e-4 above, no KL. The paper leaves open the std's convention.
    Gspo,
    /// CISPO: sample std plus 1e-6, detached token ratio to the sampler within a bound, token mean,
    /// no KL. The paper leaves open the bound and the std's convention.
    Cispo {
        /// The bound, its meaning named: there is no usual one.
        bound: CispoBound,
    },
}

/// Rewards whose range is at most this count as equal in every preset.
pub const TOLERANCE: f64 = 1e-6;

impl Preset {
    /// The objective behind the name.
    #[must_use]
    pub fn objective(self) -> Objective {
        Objective { advantage: self.advantage(), loss: self.loss() }
    }

    fn advantage(self) -> AdvantageRule {
        let sample = |eps| Scale::Std { ddof: 1, eps };
        let scale = match self {
            Self::SweRl => Scale::Std { ddof: 0, eps: 0.0 },
            Self::Trl => sample(1e-4),
            Self::OpenRlhf => sample(1e-9),
            Self::PrimeRl | Self::DrGrpo { .. } => Scale::None,
            Self::Verl
            | Self::NemoRl
            | Self::SkyRl
            | Self::Dapo
            | Self::Gspo
            | Self::Cispo { .. } => sample(1e-6),
        };
        let baseline = match self {
            Self::NemoRl => Baseline::LeaveOneOut,
            _ => Baseline::Mean,
        };
        AdvantageRule { baseline, scale, tolerance: TOLERANCE }
    }

    fn loss(self) -> LossRule {
        let clip = |low, high, dual| Surrogate::Clip(Clip { low, high, dual });
        let kl = |estimator, placement, coefficient| {
            Some(Kl { estimator, placement, coefficient, clamp: None })
        };
        // TRL's, from which each says how it differs.
        let base = LossRule {
            ratio: RatioLevel::Token,
            old: OldLogProbs::Current,
            surrogate: clip(0.2, 0.2, None),
            aggregation: Aggregation::TokenMean,
            kl: None,
            entropy: 0.0,
            truncated_importance: None,
            drift: None,
        };
        match self {
            Self::Trl => base,
            Self::SweRl => LossRule {
                ratio: RatioLevel::Sequence,
                aggregation: Aggregation::SequenceMean,
                kl: kl(KlEstimator::K3, KlPlacement::Loss, 0.001),
                ..base
            },
            Self::Verl => LossRule { surrogate: clip(0.2, 0.2, Some(3.0)), ..base },
            Self::OpenRlhf => {
                LossRule { kl: kl(KlEstimator::K1, KlPlacement::Reward, 0.01), ..base }
            }
            Self::NemoRl => LossRule { kl: kl(KlEstimator::K3, KlPlacement::Loss, 0.01), ..base },
            Self::SkyRl => LossRule { kl: kl(KlEstimator::K3, KlPlacement::Loss, 0.001), ..base },
            Self::PrimeRl => LossRule {
                old: OldLogProbs::Behaviour,
                surrogate: Surrogate::Mask(ProbabilityMask { low: 0.2, high: 0.2 }),
                drift: Some(1e-3),
                ..base
            },
            Self::Dapo => LossRule { surrogate: clip(0.2, 0.28, None), ..base },
            Self::DrGrpo { length } => {
                LossRule { aggregation: Aggregation::Constant { length }, ..base }
            }
            Self::Gspo => LossRule {
                ratio: RatioLevel::SequenceMean,
                old: OldLogProbs::Behaviour,
                surrogate: clip(3e-4, 4e-4, None),
                aggregation: Aggregation::SequenceMean,
                ..base
            },
            Self::Cispo { bound } => {
                LossRule { old: OldLogProbs::Behaviour, surrogate: Surrogate::Cispo(bound), ..base }
            }
        }
    }
}

impl Objective {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.advantage.validate()?;
        self.loss.validate()
    }
}
