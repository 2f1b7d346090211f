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
//! | `jinja` | no | `FileTemplate`, prompt templates from files |
//! | `engine` | no | `EngineSampler` and `SyncedEngine`, over vLLM, SGLang or OpenAI-compatible servers by HTTP |
//! | `engine-tls` | no | `engine`, and `https` URLs |

mod codec;
mod collect;
mod completion;
#[cfg(feature = "engine")]
mod engine;
mod error;
mod evaluate;
mod external;
mod noise;
mod observer;
mod prompt;
mod sampler;
mod sampling;
mod sft;
mod source;
mod stopping;
mod thought;
mod trace;

pub use codec::TextCodec;
pub use collect::{
    CollectSettings, RewardControl, RolloutStats, ScoredGroup, collect, collect_judged, score,
};
pub use completion::{Completion, Timings, VersionSpan};
#[cfg(all(feature = "engine", feature = "local"))]
pub use engine::ModelFolders;
#[cfg(feature = "engine")]
pub use engine::{
    EngineError, EngineInfo, EngineKind, EngineSampler, EngineSettings, EngineWeights, Failure,
    LogProbMode, Probe, SyncedEngine, WeightUpdate,
};
pub use error::{CollectError, SampleError, TraceError};
pub use evaluate::{
    Evaluation, EvaluationSettings, Interval, PairedDifference, SeedResult, evaluate,
};
pub use external::{
    ExternalReward, REWARD_PROTOCOL_VERSION, RewardCommand, RewardCounts, RewardError,
};
pub use noise::{NoiseKey, Stream};
pub use observer::RolloutObserver;
pub use prompt::{ChatMarkup, Message, Piece, Prompt, PromptBuilder, Role, Template, UnknownMark};
#[cfg(feature = "jinja")]
pub use prompt::{FileTemplate, TemplateError};
#[cfg(feature = "local")]
pub use sampler::{LocalLimits, LocalSampler};
pub use sampler::{SampleRequest, Sampler, Script, ScriptedSampler};
pub use sampling::{Draw, SamplingParams, draw, draw_allowed};
pub use sft::{SftExample, SftSettings, SftSkip, oracle_answer, supervised, supervised_set};
pub use source::SeedRollouts;
pub use thought::{location, location_thought};
pub use trace::{
    CompletionRecord, PromptRecord, TRACE_VERSION, TraceLimits, TraceRecord, TraceWriter,
    read_trace, trace_parts,
};
