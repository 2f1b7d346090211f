//! The command line of `swerl`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  Seeds from a clone with merge or squash commits:
    swerl curate repo ~/src/project --out seeds.jsonl
  Seeds from GH Archive hours and bare clones:
    swerl curate all events/ --repos repos/ --out seeds.jsonl
  Rewards of completions:
    swerl score rows.jsonl > scores.jsonl
  A run as one HTML page:
    swerl view runs/first

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

/// SWE-RL data and rewards: curate pull requests, score patches, look at runs.
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
    /// Show a run: one HTML page with curves and rollouts, written or served.
    #[command(after_help = VIEW_EXAMPLES)]
    View(ViewArgs),
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
