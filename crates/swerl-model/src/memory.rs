//! What a training run holds in memory, by arithmetic alone.
//!
//! With `n` parameters, `L` blocks of width `d`, `KV` key heads of size `h`, vocabulary `V`, `T`
//! tokens in a sequence and `b` bytes a number (2 for bf16, 4 for f32), in bytes:
//! ```text
//! weights                b n
//! gradients              b n
//! master weights, AdamW  12 n with bf16 weights (f32 copies and two moments), 8 n with f32
//! block inputs           b T d L of one sequence: a block keeps its input and computes the rest again
//! logits                 4 V for each of the 1,024 rows of a chunk, on every device
//! key/value cache        2 b T KV h L of each sequence decoded at once
//! ```
//! Blocks' inner values during one block's backward pass and the allocator's slack are not counted.

use serde::Serialize;

use crate::config::ModelConfig;

/// Rows whose logits exist at once.
const LOGIT_ROWS: u64 = 1024;

/// How weights and gradients are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// All in f32.
    F32,
    /// Weights, gradients and activations in bf16, with f32 master weights and moments.
    MixedBf16,
}

/// What a run does with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Tokens of prompt and answer together.
    pub context: u64,
    /// Sequences decoded at once.
    pub decoded: u64,
    /// Devices among which everything but the logits' chunks is divided; at least 1.
    pub devices: u64,
    /// How numbers are held.
    pub precision: Precision,
}

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryPart {
    /// What it is.
    pub what: &'static str,
    /// Bytes on all devices together.
    pub bytes: u64,
    /// Bytes on each device, rounded up.
    pub bytes_per_device: u64,
}

/// What a run holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// Its parts.
    pub parts: Vec<MemoryPart>,
}

impl MemoryPlan {
    /// The plan of training `config` under `workload`.
    ///
    /// ```
    /// use swerl_model::{MemoryPlan, ModelConfig, Precision, Workload};
    ///
    /// let workload =
    ///     Workload { context: 16_384, decoded: 16, devices: 8, precision: Precision::MixedBf16 };
    /// let plan = MemoryPlan::new(&ModelConfig::llama_3_3_70b(), &workload);
    /// assert_eq!(plan.parts[0].bytes, 2 * 70_553_706_496);
    /// ```
    #[must_use]
    pub fn new(config: &ModelConfig, workload: &Workload) -> Self {
        let (n, d) = (config.parameters(), config.hidden_size as u64);
        let (layers, vocabulary) = (config.num_hidden_layers as u64, config.vocab_size as u64);
        let kv = (config.num_key_value_heads * config.head_dim) as u64;
        let (b, state, master) = match workload.precision {
            Precision::F32 => (4, 8, "AdamW moments, f32"),
            Precision::MixedBf16 => (2, 12, "master weights and AdamW moments, f32"),
        };
        let devices = workload.devices.max(1);
        let divided = |what, bytes: u64| MemoryPart {
            what,
            bytes,
            bytes_per_device: bytes.div_ceil(devices),
        };
        let logits = 4 * LOGIT_ROWS * vocabulary;
        let parts = vec![
            divided("weights", b * n),
            divided("gradients", b * n),
            divided(master, state * n),
            divided("block inputs of one sequence", b * workload.context * d * layers),
            MemoryPart {
                what: "logits of 1,024 rows, f32",
                bytes: logits * devices,
                bytes_per_device: logits,
            },
            divided(
                "key/value cache of the sequences decoded at once",
                2 * b * workload.context * kv * layers * workload.decoded,
            ),
        ];
        Self { parts }
    }

    /// Bytes on all devices together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Bytes on each device.
    #[must_use]
    pub fn per_device(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes_per_device).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_70b_in_gigabytes() {
        let workload =
            Workload { context: 16_384, decoded: 1, devices: 8, precision: Precision::MixedBf16 };
        let plan = MemoryPlan::new(&ModelConfig::llama_3_3_70b(), &workload);
        let gigabytes: Vec<String> =
            plan.parts.iter().map(|p| format!("{:.1}", p.bytes as f64 / 1e9)).collect();
        assert_eq!(gigabytes, ["141.1", "141.1", "846.6", "21.5", "4.2", "5.4"]);
        let device: Vec<String> =
            plan.parts.iter().map(|p| format!("{:.1}", p.bytes_per_device as f64 / 1e9)).collect();
        assert_eq!(device, ["17.6", "17.6", "105.8", "2.7", "0.5", "0.7"]);
        assert_eq!(plan.total(), plan.parts.iter().map(|p| p.bytes).sum::<u64>());
        assert!(plan.per_device() * 8 >= plan.total());
    }

    #[test]
    fn in_f32_there_is_no_master_copy() {
        let workload = Workload { context: 8, decoded: 0, devices: 1, precision: Precision::F32 };
        let config = ModelConfig::llama_3_3_70b();
        let plan = MemoryPlan::new(&config, &workload);
        let state: u64 = plan.parts[..3].iter().map(|p| p.bytes).sum();
        assert_eq!(state, 16 * config.parameters());
    }
}
