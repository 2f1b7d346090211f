//! The command line of `swerl`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod curate;

pub(crate) use curate::{
    AllArgs, Colour, Curate, ExportArgs, ExportFormat, FilterArgs, ImportArgs, InspectArgs,
    RepoArgs, SeedsOut,
};

const EXAMPLES: &str = "\
Examples:
  Seeds from a clone with merge or squash commits:
    swerl curate repo ~/src/project --out seeds.jsonl
  Seeds from GH Archive hours and bare clones:
    swerl curate all events/ --repos repos/ --out seeds.jsonl
  One of them, as text and coloured difference:
    swerl curate inspect owner/name#12 --seeds seeds.jsonl
  Rewards of completions:
    swerl score rows.jsonl > scores.jsonl

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

/// SWE-RL data and rewards: curate pull requests, score patches.
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
    /// Score outputs of a model against the merged change.
    #[command(after_help = SCORE_EXAMPLES)]
    Score(ScoreArgs),
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
