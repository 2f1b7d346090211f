//! The command line of `swerl`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

mod curate;
mod plan;
mod rollouts;
#[cfg(feature = "train")]
mod train;

#[cfg(feature = "aggregate")]
pub(crate) use curate::AggregateArgs;
pub(crate) use curate::{
    AllArgs, Colour, Curate, ExportArgs, ExportFormat, FilterArgs, ImportArgs, InspectArgs,
    RepoArgs, SeedsOut,
};
#[cfg(feature = "ingest")]
pub(crate) use curate::{IngestArgs, SeedsArgs};
pub(crate) use plan::{PlanArgs, PrecisionName};
pub(crate) use rollouts::{
    RolloutChoice, RolloutDiffArgs, RolloutShowArgs, RolloutStatsArgs, Rollouts,
};
#[cfg(feature = "train")]
pub(crate) use train::{ResumeArgs, RunArgs, TrainArgs};

const EXAMPLES: &str = "\
Examples:
  Seeds from a clone with merge or squash commits:
    swerl curate repo ~/src/project --out seeds.jsonl
  Seeds from GH Archive hours and bare clones:
    swerl curate all events/ --repos repos/ --out seeds.jsonl
  One of them, as text and coloured difference:
    swerl curate inspect owner/name#12 --seeds seeds.jsonl
  What training a model takes, device by device:
    swerl plan --model 70b --devices 8
  Rewards of completions:
    swerl score rows.jsonl > scores.jsonl
  A run as one HTML page:
    swerl view runs/first
  What a run's policy wrote and earned:
    swerl rollouts stats run/rollouts.jsonl

Exit codes: 0 done, 1 failed, 2 wrong command line, 130 interrupted.";

const SCORE_EXAMPLES: &str = "\
A row is one JSON object a line:
  {\"id\": \"1\", \"context\": {\"a.py\": \"x = 1\\n\"}, \"oracle\": {\"a.py\": \"x = 2\\n\"}, \"output\": \"<think>...\"}
or, with --seeds:
  {\"seed\": \"owner/repo#12\", \"output\": \"<think>...\"}
or new contents, or unified diffs:
  {\"kind\": \"general\", \"context\": {..}, \"oracle\": {..}, \"prediction\": {\"a.py\": \"x = 2\\n\"}}
  {\"kind\": \"unidiff\", \"oracle_patches\": [\"--- a/f..\"], \"pred_patches\": [\"--- a/f..\"]}
Each gives one row, in order: {\"id\", \"reward\", \"outcome\", \"reason\", \"similarities\"}.

Examples:
  swerl score rows.jsonl > scores.jsonl
  swerl score --seeds seeds.jsonl completions.jsonl --out scores.jsonl --json
  generate | swerl score -";

const VIEW_EXAMPLES: &str = "\
Examples:
  One page of a run, finished or not; it needs nothing else and can be sent around:
    swerl view runs/first
  With the merged change beside each answer:
    swerl view runs/first --seeds seeds.jsonl --out first.html
  While the run goes on:
    swerl view runs/first --serve
  All rollouts of one step:
    swerl view runs/first --step 12 --limit-rollouts 10000
  For TensorBoard:
    swerl view runs/first --tensorboard events/first";

/// SWE-RL data and rewards: curate pull requests, score patches, look at runs and rollouts.
#[derive(Debug, Parser)]
#[command(name = "swerl", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// No progress on standard error.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make seeds (issue, files, oracle) from merged pull requests.
    #[command(subcommand)]
    Curate(Box<Curate>),
    /// Check a model folder by its headers and say what a run of it holds in memory.
    #[command(after_help = plan::EXAMPLES)]
    Plan(PlanArgs),
    /// Warm-start a policy by fine-tuning where the configuration says so, then GRPO.
    #[cfg(feature = "train")]
    #[command(after_help = train::EXAMPLES)]
    Train(TrainArgs),
    /// Fine-tune a policy on merged changes.
    #[cfg(feature = "train")]
    #[command(after_help = train::EXAMPLES)]
    Sft(RunArgs),
    /// Go on with a run of `train` or `sft` from its folder.
    #[cfg(feature = "train")]
    Resume(ResumeArgs),
    /// Score outputs of a model against the merged change.
    #[command(after_help = SCORE_EXAMPLES)]
    Score(ScoreArgs),
    /// Show a run: one HTML page with curves and rollouts, written or served.
    #[command(after_help = VIEW_EXAMPLES)]
    View(ViewArgs),
    /// Read the trace of a run: what the policy wrote, and what it earned.
    #[command(subcommand, after_help = rollouts::EXAMPLES)]
    Rollouts(Rollouts),
}

/// Arguments of `score`.
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Rows to score (JSONL, plain or gzip), or `-` for standard input.
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) rows: PathBuf,
    /// Seeds that rows with a `seed` field refer to.
    #[arg(long, value_name = "SEEDS.jsonl")]
    pub(crate) seeds: Option<PathBuf>,
    /// Write the scores to this file [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Stop at the first row that cannot be read.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `view`.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// The folder of a run: finished, going on, or crashed.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// File to write [default: RUN/report.html]; it appears whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Serve the page instead, made anew when the run has written [default address: 127.0.0.1:8473]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8473", conflicts_with = "out")]
    pub(crate) serve: Option<SocketAddr>,
    /// Most rollouts on the page, in whole groups.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) limit_rollouts: usize,
    /// Only rollouts of this step.
    #[arg(long, value_name = "K")]
    pub(crate) step: Option<u64>,
    /// Seeds of the run: shows the merged change and how each answer differs from it.
    #[arg(long, value_name = "SEEDS.jsonl")]
    pub(crate) seeds: Option<PathBuf>,
    /// tokenizer.json, to shade tokens within the text [default: RUN/model/tokenizer.json, where it is]
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Write TensorBoard event files to this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "serve", "step", "seeds", "tokenizer"])]
    pub(crate) tensorboard: Option<PathBuf>,
}
