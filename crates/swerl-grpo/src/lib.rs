//! Group-relative policy optimisation for [Burn](https://burn.dev), on tokens alone.
//!
//! This crate knows no text, no tokenizer and no reward function. It takes groups of token
//! sequences with rewards and turns them into better weights of a module that implements
//! [`Policy`]:
//!
//! ```text
//! RolloutSource -> Group -> advantages -> TokenBatch -> Policy -> loss -> gradients -> AdamW
//! ```
//!
//! * [`advantage`]: rewards of a group to advantages, in f64 on the host.
//! * [`mod@loss`]: ratio, bounds, KL and entropy on small `[targets]` tensors.
//! * [`preset`]: published objectives by name.
//! * [`batch`]: rows whose completions share their prompt, and micro-batches by token budget.
//! * [`policy`]: the two-phase trait a model implements.
//! * [`train()`] and [`sft()`]: the loops, with [`checkpoint`]s that resume to the bit, reporting
//!   to an [`Observer`].
//!
//! ```
//! use swerl_grpo::{advantages, Preset};
//!
//! // Four completions of one prompt; the third broke the answer format.
//! let rewards = [Some(0.87), Some(0.32), Some(-1.0), Some(0.95)];
//! let group = advantages(&rewards, &Preset::SweRl.objective().advantage);
//! let rounded: Vec<f64> = group.values.iter().map(|a| (a * 100.0).round() / 100.0).collect();
//! assert_eq!(rounded, [0.75, 0.04, -1.65, 0.85]);
//! ```
//!
//! No backend is enabled here: the device arrives with the policy's parameters.

pub mod advantage;
pub mod batch;
pub mod checkpoint;
pub mod config;
pub mod error;
mod learner;
pub mod loss;
pub mod metrics;
pub mod observe;
pub mod optimizer;
pub mod policy;
pub mod preset;
mod random;
pub mod schedule;
pub mod sequence;
pub mod sft;
mod supervised;
pub mod train;

pub use advantage::{AdvantageRule, Advantages, advantages, batch_advantages, has_spread};
pub use batch::{BatchError, Member, Row, Segment, Target, TokenBatch};
pub use checkpoint::{CheckpointError, SavedCheckpoint};
pub use config::{CheckpointRule, SamplerCheck, SftConfig, TrainConfig};
pub use error::{ConfigError, ObserverError, RolloutError, TrainError};
pub use learner::{End, Resume, Trained};
pub use loss::LossRule;
pub use metrics::{PhaseTimes, SftMetrics, StepMetrics};
pub use observe::{Observer, Silent};
pub use optimizer::OptimizerRule;
pub use policy::{Policy, PolicyError, TokenScores};
pub use preset::{Objective, Preset};
pub use schedule::{Decay, Schedule};
pub use sequence::{Finish, Group, Sequence};
pub use sft::sft;
pub use train::{RolloutSource, group_advantages, train};

/// The README's examples, compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
