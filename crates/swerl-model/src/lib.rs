#![cfg_attr(all(feature = "decoder", feature = "flex"), doc = include_str!("../README.md"))]
#![cfg_attr(
    not(all(feature = "decoder", feature = "flex")),
    doc = "Llama-family decoders on Burn."
)]
//!
//! # Modules by what they do
//!
//! [`ModelConfig`] and `CausalLm` are the model; `PromptCache` and `DecodeCache` serve sampling; the
//! implementation of `swerl_grpo::policy::Policy` serves training; [`Tokenizer`] and `ChatTemplate` stand
//! alone; [`StoredTensors`] checks a folder of weights by its headers and [`MemoryPlan`] says what a run holds.

#[cfg(feature = "decoder")]
mod attention;
#[cfg(feature = "decoder")]
mod backward;
#[cfg(feature = "decoder")]
mod block;
#[cfg(feature = "decoder")]
mod cache;
#[cfg(feature = "decoder")]
mod causal_lm;
#[cfg(feature = "chat")]
mod chat;
mod config;
mod error;
#[cfg(feature = "decoder")]
mod forward;
#[cfg(feature = "flex")]
mod fused;
#[cfg(feature = "decoder")]
mod layout;
#[cfg(feature = "decoder")]
mod linear;
#[cfg(feature = "decoder")]
mod logprob;
#[cfg(feature = "decoder")]
mod lora;
#[cfg(feature = "decoder")]
mod mask;
mod memory;
#[cfg(feature = "decoder")]
mod mlp;
#[cfg(feature = "decoder")]
mod ops;
#[cfg(feature = "decoder")]
mod parts;
#[cfg(feature = "decoder")]
mod policy;
#[cfg(feature = "decoder")]
mod rotary;
mod tokenizer;
mod weights;

#[cfg(feature = "decoder")]
pub use cache::{DecodeCache, PromptCache};
#[cfg(feature = "decoder")]
pub use causal_lm::CausalLm;
#[cfg(feature = "chat")]
pub use chat::{ChatTemplate, Message};
pub use config::{Llama3Rope, ModelConfig};
pub use error::ModelError;
#[cfg(feature = "decoder")]
pub use lora::{LoraConfig, LoraTarget};
pub use memory::{MemoryPart, MemoryPlan, Precision, Workload};
pub use tokenizer::{CODE_PATTERN, TextStream, Tokenizer};
#[cfg(feature = "decoder")]
pub use weights::StoredDtype;
pub use weights::{StoredSummary, StoredTensors, expected_tensors};
