//! Arguments of `plan`.

use std::num::NonZeroU64;

use clap::{Args, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  The paper's model on one node of eight devices, 32 sequences decoded at once:
    swerl plan --model 70b --devices 8 --decoded 32
  A folder: its tensors are checked against its config.json from the headers, no weight is read:
    swerl plan --model models/SmolLM2-135M --precision f32 --context 2048
  For a script:
    swerl plan --model models/SmolLM2-135M --json";

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Hugging Face folder, or `70b` for Llama-3.3-70B.
    #[arg(long, value_name = "DIR|70b")]
    pub(crate) model: String,
    /// Tokens of prompt and answer together.
    #[arg(long, default_value = "16384")]
    pub(crate) context: NonZeroU64,
    /// Sequences decoded at once.
    #[arg(long, default_value = "16")]
    pub(crate) decoded: NonZeroU64,
    /// Devices that share the model.
    #[arg(long, default_value = "1")]
    pub(crate) devices: NonZeroU64,
    /// How numbers are held.
    #[arg(long, value_enum, default_value = "mixed-bf16")]
    pub(crate) precision: PrecisionName,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How numbers are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Everything in f32, as on a CPU.
    F32,
    /// Weights, gradients and activations in bf16, master weights and moments in f32.
    MixedBf16,
}
