//! Hugging Face folders in and out: `model.safetensors`, or shards named by
//! `model.safetensors.index.json`, in f32, f16 or bf16.
//!
//! A folder's coverage is checked both ways from the headers alone, and everything found is listed
//! at once: missing, unexpected and misshapen tensors.

mod coverage;
#[cfg(feature = "decoder")]
mod export;
#[cfg(feature = "decoder")]
mod load;
#[cfg(feature = "decoder")]
mod names;
mod shard;

pub use coverage::{StoredSummary, StoredTensors, expected_tensors};
#[cfg(feature = "decoder")]
pub use export::StoredDtype;
#[cfg(feature = "decoder")]
pub(crate) use export::write_folder;
#[cfg(feature = "decoder")]
pub(crate) use load::transpose;
pub(crate) use shard::Shard;
