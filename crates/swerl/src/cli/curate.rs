//! The command line of `swerl curate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use swerl::data::InstanceFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum Curate {
    /// From a git repository alone: merge and squash commits, the message as the issue's text.
    Repo(RepoArgs),
    /// From GH Archive event files and the repositories that they name.
    All(AllArgs),
    /// First stage of `all`: GH Archive event files to parquet, resumable.
    #[cfg(feature = "ingest")]
    #[command(after_help = STAGES)]
    Ingest(IngestArgs),
    /// Second stage: events in parquet to pull requests and issues, resumable.
    #[cfg(feature = "aggregate")]
    #[command(after_help = STAGES)]
    Aggregate(AggregateArgs),
    /// Third stage: pull requests, issues and clones to seeds, resumable.
    #[cfg(feature = "ingest")]
    #[command(after_help = STAGES)]
    Seeds(SeedsArgs),
    /// Show a seed: issue, files, the oracle as a coloured difference.
    Inspect(InspectArgs),
    /// Write seeds as rows of another tool.
    Export(ExportArgs),
    /// Make seeds from the instances of another data set and clones.
    Import(ImportArgs),
}

#[cfg(feature = "ingest")]
const STAGES: &str = "\
The stages of a large curation; each goes on where it was stopped, whatever stopped it:
  swerl curate ingest events/ --out work/events
  swerl curate aggregate work/events --out work/pulls
  swerl curate seeds work/pulls --repos repos/ --out seeds.jsonl
or all of them:
  swerl curate all events/ --repos repos/ --work work/ --out seeds.jsonl";

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
    /// Take commits that are neither merges nor squashes as pull requests too, as rebased ones
    /// leave no other trace.
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
    /// Work in stages whose results are kept in this folder: bounded memory, resumable.
    #[cfg(feature = "aggregate")]
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) out: SeedsOut,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
}

/// Arguments of `curate ingest`.
#[cfg(feature = "ingest")]
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// Folder of hourly `*.json.gz` files.
    #[arg(value_name = "EVENTS_DIR")]
    pub(crate) events: PathBuf,
    /// Folder for the parquet parts, one a file.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Lines of a file that may be no events before the file is set aside.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_bad_lines: u64,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `curate aggregate`.
#[cfg(feature = "aggregate")]
#[derive(Debug, Args)]
pub(crate) struct AggregateArgs {
    /// Folder that `curate ingest` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) events: PathBuf,
    /// Folder for the pull requests and issues.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Parts to spread the repositories over; the next stage holds one in memory. 256 for all of GH Archive.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) parts: u16,
    /// MiB of memory for sorting; what does not fit is spilled to files below --out.
    #[arg(long, value_name = "MIB", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(64..))]
    pub(crate) memory: u32,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `curate seeds`.
#[cfg(feature = "ingest")]
#[derive(Debug, Args)]
pub(crate) struct SeedsArgs {
    /// Folder that `curate aggregate` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) pulls: PathBuf,
    /// Folder of clones, bare or not: OWNER/NAME.git or OWNER/NAME.
    #[arg(long, value_name = "DIR")]
    pub(crate) repos: PathBuf,
    /// Folder that keeps what is done [default: the seeds file's name with .parts]
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,
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
    /// Leave out every clone whose history begins with this commit, besides forks of SWE-bench's
    /// repositories (may be given again).
    #[arg(long, value_name = "COMMIT")]
    pub(crate) exclude_root: Vec<String>,
    /// File of instance ids to leave out, one a line: owner__name-12.
    #[arg(long, value_name = "FILE")]
    pub(crate) exclude_instances: Option<PathBuf>,
    /// Leave out what was merged at this moment or later: 2024-09-01 or 2024-09-01T00:00:00Z.
    #[arg(long, value_name = "DATE")]
    pub(crate) merged_before: Option<String>,
    /// SPDX licences of which a repository must have one, with commas between; `permissive` stands
    /// for the usual ones [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) licences: Vec<String>,
    /// Jaccard similarity, 0 to 1, from which on a change repeats an earlier one; above 1 only
    /// exact repetitions are dropped [default: 0.8]
    #[arg(long, value_name = "X")]
    pub(crate) near_duplicates: Option<f64>,
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
    /// Most tokens of them together, estimated [default: 6144]
    #[arg(long, value_name = "N")]
    pub(crate) related_tokens: Option<usize>,
    /// Most bytes of an issue's comments from before the fix [default: 8192]
    #[arg(long, value_name = "N")]
    pub(crate) comments: Option<usize>,
}

/// Where seeds and report go.
#[derive(Debug, Args)]
pub(crate) struct SeedsOut {
    /// Seeds file to write (JSONL); it appears whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Folder for a data card: data-card.md and its pictures.
    #[arg(long, value_name = "DIR")]
    pub(crate) card: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Arguments of `curate inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The seed's id, or its place in the file, from 1.
    #[arg(value_name = "SEED")]
    pub(crate) seed: String,
    /// The seeds file.
    #[arg(long, value_name = "FILE")]
    pub(crate) seeds: PathBuf,
    /// Show the texts of all files, not only their names and sizes.
    #[arg(long)]
    pub(crate) full: bool,
    /// When to colour.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) color: Colour,
}

/// Whose rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Hugging Face TRL: prompt, context, oracle.
    Trl,
    /// verl: data_source, prompt, ability, reward_model, extra_info.
    Verl,
    /// SWE-bench: instance_id, repo, base_commit, patch, problem_statement, ...
    SweBench,
}

/// Arguments of `curate export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The seeds file.
    #[arg(value_name = "SEEDS.jsonl")]
    pub(crate) seeds: PathBuf,
    /// Whose rows.
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// Name of the split in verl's rows.
    #[arg(long, value_name = "NAME", default_value = "train")]
    pub(crate) split: String,
    /// File to write (JSONL) [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `curate import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Instances (JSONL).
    #[arg(value_name = "INSTANCES.jsonl")]
    pub(crate) instances: PathBuf,
    /// Of which data set: swe-bench, swe-gym, swe-smith, r2e-gym.
    #[arg(long, value_parser = instance_format)]
    pub(crate) format: InstanceFormat,
    /// Folder of clones, bare or not: OWNER/NAME.git or OWNER/NAME.
    #[arg(long, value_name = "DIR")]
    pub(crate) repos: PathBuf,
    #[command(flatten)]
    pub(crate) out: SeedsOut,
    /// Most unmodified related files added to the context [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) related: Option<usize>,
}

fn instance_format(name: &str) -> Result<InstanceFormat, String> {
    let found = InstanceFormat::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<&str> = InstanceFormat::ALL.iter().map(|(name, _)| *name).collect();
        format!("one of {}", names.join(", "))
    })
}
