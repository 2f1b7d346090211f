//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use swerl::train::Backend;

/// The SWE-RL recipe on this machine: pull requests to a better policy.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:
  llama70b                                   the whole recipe with the sample corpus
  llama70b --seeds seeds.jsonl --model DIR   your seeds, your Hugging Face folder
  llama70b --out runs/a --resume             go on with a stopped run
  llama70b --permute-rewards                 the control: rewards shuffled within each group
  llama70b --preset 70b                      the paper's configuration and its memory")]
pub(crate) struct Arguments {
    /// What to run: `demo` is scaled to this machine, `70b` prints the paper's configuration.
    #[arg(long, value_enum, default_value = "demo")]
    pub(crate) preset: Preset,
    /// Hugging Face folder of the policy [default: the embedded base model].
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Start from random weights of the same shape.
    #[arg(long)]
    pub(crate) from_scratch: bool,
    /// Seeds as JSON lines [default: curated from the sample corpus].
    #[arg(long, value_name = "FILE")]
    pub(crate) seeds: Option<PathBuf>,
    /// How prompts are written.
    #[arg(long, value_enum, default_value = "compact")]
    pub(crate) template: TemplateName,
    /// GRPO steps.
    #[arg(long, default_value_t = 24)]
    pub(crate) steps: u64,
    /// Prompts in a GRPO step.
    #[arg(long, default_value_t = 16)]
    pub(crate) prompts: usize,
    /// Samples per prompt.
    #[arg(long, default_value_t = 8)]
    pub(crate) samples: usize,
    /// Peak learning rate of GRPO; it falls to nearly 0 over the steps.
    #[arg(long, default_value_t = 2.5e-4)]
    pub(crate) lr: f64,
    /// Weight of a supervised term in GRPO's updates.
    #[arg(long, default_value_t = 0.3)]
    pub(crate) sft_weight: f64,
    /// Merged answers that the supervised term of an update takes.
    #[arg(long, default_value_t = 16)]
    pub(crate) sft_answers: usize,
    /// Updates on each batch of samples.
    #[arg(long, default_value_t = 1)]
    pub(crate) epochs: u64,
    /// Weight of the KL term (k3, token mean) against the policy after fine-tuning; 0 keeps no
    /// reference.
    #[arg(long, default_value_t = 0.0)]
    pub(crate) kl: f64,
    /// Peak learning rate of supervised fine-tuning; it falls to a fifth over all rounds.
    #[arg(long, default_value_t = 1.5e-3)]
    pub(crate) sft_lr: f64,
    /// Seeds for supervised fine-tuning.
    #[arg(long, default_value_t = 5376)]
    pub(crate) sft_seeds: usize,
    /// Seeds in a round of supervised fine-tuning, after which it is validated.
    #[arg(long, default_value_t = 896)]
    pub(crate) sft_round: usize,
    /// Most rounds of supervised fine-tuning.
    #[arg(long, default_value_t = 6)]
    pub(crate) sft_rounds: u64,
    /// Held-out seeds evaluated.
    #[arg(long, default_value_t = 500)]
    pub(crate) held_out: usize,
    /// Longest prompt in tokens; files that do not fit are left out whole.
    #[arg(long, default_value_t = 304)]
    pub(crate) prompt_tokens: usize,
    /// Longest answer in tokens.
    #[arg(long, default_value_t = 160)]
    pub(crate) answer_tokens: usize,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Folder of the run: metrics, rollouts, checkpoints, the trained model.
    #[arg(long, value_name = "DIR", default_value = "runs/llama70b")]
    pub(crate) out: PathBuf,
    /// Go on with the run in `--out`.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Folder of the generated corpus [default: the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Write the figures of the final table as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Where tensors live.
    #[arg(long, value_enum, default_value = "flex")]
    pub(crate) backend: Backend,
    /// Shuffle rewards within each group: nothing can be learned, and nothing must be.
    #[arg(long)]
    pub(crate) permute_rewards: bool,
    /// Leave out the supervised control run.
    #[arg(long)]
    pub(crate) no_control: bool,
    /// Print no progress.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Scaled to this machine.
    Demo,
    /// The paper's configuration.
    #[value(name = "70b")]
    Llama70b,
}

/// A prompt template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateName {
    /// As few words as possible, for small base models.
    Compact,
    /// All rules spelled out, for instruction-tuned models.
    SweRl,
}
