//! The command line of `swerl rollouts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
A trace that was cut into parts (rollouts.0001.jsonl.gz, ...) is read from its first part on.

Examples:
  swerl rollouts stats run/rollouts.jsonl
  swerl rollouts show run/rollouts.jsonl --step 10 --at-least 0.9 --with-prompt
  swerl rollouts diff run/rollouts.jsonl --step 10 --prompt 3
  swerl rollouts diff run/rollouts.jsonl --against again/rollouts.jsonl";

#[derive(Debug, Subcommand)]
pub(crate) enum Rollouts {
    /// Figures of every step: rewards, formats, lengths, log-probs.
    Stats(RolloutStatsArgs),
    /// Prompts and completions to read.
    Show(RolloutShowArgs),
    /// The best and the worst sample of a prompt line by line, or two traces sample by sample.
    Diff(RolloutDiffArgs),
}

/// Arguments of `rollouts stats`.
#[derive(Debug, Args)]
pub(crate) struct RolloutStatsArgs {
    /// A trace.
    #[arg(value_name = "FILE")]
    pub(crate) trace: PathBuf,
    /// Print one JSON object a step, and one (step null) of all.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which prompts are meant.
#[derive(Debug, Args)]
pub(crate) struct RolloutChoice {
    /// Only of this step, from 0.
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u64>,
    /// Only of this prompt of a step, from 0.
    #[arg(long, value_name = "N")]
    pub(crate) prompt: Option<u64>,
    /// Only of the seed with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
}

/// Arguments of `rollouts show`.
#[derive(Debug, Args)]
pub(crate) struct RolloutShowArgs {
    /// A trace.
    #[arg(value_name = "FILE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) choice: RolloutChoice,
    /// Only this sample of a prompt, from 0.
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<u64>,
    /// Only completions with this outcome, such as scored, tags or search_not_found.
    #[arg(long, value_name = "KIND")]
    pub(crate) outcome: Option<String>,
    /// Only rewards of at least this.
    #[arg(long, value_name = "REWARD", allow_negative_numbers = true)]
    pub(crate) at_least: Option<f64>,
    /// Only rewards of at most this.
    #[arg(long, value_name = "REWARD", allow_negative_numbers = true)]
    pub(crate) at_most: Option<f64>,
    /// Most completions shown.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Show the prompts too.
    #[arg(long)]
    pub(crate) with_prompt: bool,
    /// Show each token's id and log-prob.
    #[arg(long)]
    pub(crate) tokens: bool,
}

/// Arguments of `rollouts diff`.
#[derive(Debug, Args)]
pub(crate) struct RolloutDiffArgs {
    /// A trace.
    #[arg(value_name = "FILE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) choice: RolloutChoice,
    /// Two samples of the prompt [default: the best and the worst]
    #[arg(long, value_name = "A,B", value_parser = two_numbers)]
    pub(crate) samples: Option<(u64, u64)>,
    /// Another trace, to compare sample by sample.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["step", "prompt", "id", "samples"])]
    pub(crate) against: Option<PathBuf>,
}

/// Two numbers with a comma between them.
fn two_numbers(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    numbers.ok_or_else(|| "two numbers of samples are needed, such as 0,3".to_owned())
}
