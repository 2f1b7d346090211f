#![doc = include_str!("../README.md")]
//!
//! # Modules by what they do
//!
//! Prompts: [`PromptBuilder`], [`Template`], [`ChatMarkup`]. Sampling: [`Sampler`],
//! `LocalSampler`, [`ScriptedSampler`], [`draw()`], [`NoiseKey`]. Scored groups: [`collect()`],
//! [`SeedRollouts`], [`RolloutStats`]. Around training: [`evaluate()`], [`supervised_set`], [`location_thought`],
//! [`TraceWriter`].
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `local` | yes | `LocalSampler`, over `swerl_model::CausalLm` in this process |

mod codec;
mod collect;
mod completion;
mod error;
mod evaluate;
mod noise;
mod observer;
mod prompt;
mod sampler;
mod sampling;
mod sft;
mod source;
mod thought;
mod trace;

pub use codec::TextCodec;
pub use collect::{CollectSettings, RewardControl, RolloutStats, ScoredGroup, collect, score};
pub use completion::{Completion, Timings};
pub use error::{CollectError, SampleError, TraceError};
pub use evaluate::{
    Evaluation, EvaluationSettings, Interval, PairedDifference, SeedResult, evaluate,
};
pub use noise::{NoiseKey, Stream};
pub use observer::RolloutObserver;
pub use prompt::{ChatMarkup, Message, Piece, Prompt, PromptBuilder, Role, Template, UnknownMark};
#[cfg(feature = "local")]
pub use sampler::{LocalLimits, LocalSampler};
pub use sampler::{SampleRequest, Sampler, Script, ScriptedSampler};
pub use sampling::{Draw, SamplingParams, draw};
pub use sft::{SftExample, SftSettings, SftSkip, oracle_answer, supervised, supervised_set};
pub use source::SeedRollouts;
pub use thought::{location, location_thought};
pub use trace::{
    CompletionRecord, PromptRecord, TRACE_VERSION, TraceRecord, TraceWriter, read_trace,
};
