//! The command line of `swerl`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  Seeds from a clone with merge or squash commits:
    swerl curate repo ~/src/project --out seeds.jsonl
  Seeds from GH Archive hours and bare clones:
    swerl curate all events/ --repos repos/ --out seeds.jsonl
  Rewards of completions:
    swerl score rows.jsonl > scores.jsonl
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

const ROLLOUTS_EXAMPLES: &str = "\
A trace that was cut into parts (rollouts.0001.jsonl.gz, ...) is read from its first part on.

Examples:
  swerl rollouts stats run/rollouts.jsonl
  swerl rollouts show run/rollouts.jsonl --step 10 --at-least 0.9 --with-prompt
  swerl rollouts diff run/rollouts.jsonl --step 10 --prompt 3
  swerl rollouts diff run/rollouts.jsonl --against again/rollouts.jsonl";

/// SWE-RL data and rewards: curate pull requests, score patches, read rollouts.
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
    Curate(Curate),
    /// Score outputs of a model against the merged change.
    #[command(after_help = SCORE_EXAMPLES)]
    Score(ScoreArgs),
    /// Read the trace of a run: what the policy wrote, and what it earned.
    #[command(subcommand, after_help = ROLLOUTS_EXAMPLES)]
    Rollouts(Rollouts),
}

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

#[derive(Debug, Subcommand)]
pub(crate) enum Curate {
    /// From a git repository alone: merge and squash commits, the message as the issue's text.
    Repo(RepoArgs),
    /// From GH Archive event files and the repositories that they name.
    All(AllArgs),
}

/// Arguments of `curate repo`.
#[derive(Debug, Args)]
pub(crate) struct RepoArgs {
    /// A clone, bare or not, with its history.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Its name in the seeds [default: from the remote origin, else local/FOLDER]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) name: Option<String>,
    /// The branch whose first-parent history is read.
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub(crate) revision: String,
    /// Take commits that are neither merges nor squashes as pull requests too.
    #[arg(long)]
    pub(crate) direct_commits: bool,
    #[command(flatten)]
    pub(crate) out: SeedsOut,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
}

/// Arguments of `curate all`.
#[derive(Debug, Args)]
pub(crate) struct AllArgs {
    /// Folder of hourly `*.json.gz` files.
    #[arg(value_name = "EVENTS_DIR")]
    pub(crate) events: PathBuf,
    /// Folder of clones, bare or not: OWNER/NAME.git or OWNER/NAME.
    #[arg(long, value_name = "DIR")]
    pub(crate) repos: PathBuf,
    #[command(flatten)]
    pub(crate) out: SeedsOut,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
}

/// Which pull requests become seeds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Keep changes whose issue asks for something else than a fix.
    #[arg(long)]
    pub(crate) any_issue: bool,
    /// Leave this repository out, besides those of SWE-bench (may be given again).
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) exclude: Vec<String>,
    /// Most changed files [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<usize>,
    /// Most bytes of the changed files, before and after, each [default: 131072]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
    /// Most added and removed lines [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) max_changed_lines: Option<usize>,
    /// Most unmodified related files added to the context [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) related: Option<usize>,
}

/// Where seeds and report go.
#[derive(Debug, Args)]
pub(crate) struct SeedsOut {
    /// Seeds file to write (JSONL); it appears whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `score`.
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Rows to score (JSONL), or `-` for standard input.
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

/// Two numbers with a comma between them.
fn two_numbers(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    numbers.ok_or_else(|| "two numbers of samples are needed, such as 0,3".to_owned())
}
