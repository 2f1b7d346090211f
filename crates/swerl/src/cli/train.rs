//! Arguments of `train`, `sft` and `resume`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  What a configuration means, defaults included, and what it holds in memory; nothing runs:
    swerl train examples/configs/demo.toml --dry-run
  A run, and some of its settings changed:
    swerl train examples/configs/demo.toml --out runs/first --set grpo.steps=48 --set seed=1
  After Ctrl-C, a crash or more steps:
    swerl resume runs/first
    swerl train examples/configs/demo.toml --out runs/first --set grpo.steps=96 --resume
  Look at it, also while it goes on:
    swerl view runs/first --serve";

/// A configuration and what to do with it.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Configuration of the run (TOML); `--dry-run` shows every key.
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) config: PathBuf,
    /// Folder of the run [default: runs/ and the configuration's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the run in `--out`.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Change a setting; may be given several times.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the whole configuration and the memory it takes, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the figures at the end as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `train`.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Then carry fine-tuning on for as many tokens as GRPO trained on, as its control; needs [sft].
    #[arg(long)]
    pub(crate) control: bool,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Folder of a run that `train` or `sft` began.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Print the figures at the end as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
