//! The command line of `cargo xtask`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::{check, command, tidy, workspace::Workspace};

/// Automation for the swerl workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run everything a change must pass: fmt, tidy, clippy, docs, tests (cheapest first).
    Check(CheckArgs),
    /// Check the house rules: file sizes, headers, crate edges, backends, manifests, links.
    Tidy,
    /// Write the sample corpus: bare git repositories and GH Archive event files.
    SampleData(SampleDataArgs),
    /// Train the embedded base model of the examples (an hour or two on 2 cores).
    PretrainDemo(PretrainArgs),
    /// Make golden files anew with their scripts.
    Golden(GoldenArgs),
    /// Package every published crate as `cargo publish` would.
    Package(PackageArgs),
    /// Type-check swerl-model with the GPU backends, as far as this machine allows.
    Features(FeaturesArgs),
    /// Check what needs a program of somebody else: a browser, TensorBoard.
    E2e(E2eArgs),
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Leave the tests out (when they have just been run).
    #[arg(long)]
    pub skip_tests: bool,
}

/// Arguments of `sample-data`.
#[derive(Debug, Args)]
pub struct SampleDataArgs {
    /// Folder to write; it must not exist [default: target/sample-data]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Merged bug-fix pull requests to make (noise comes on top).
    #[arg(long, value_name = "N", default_value_t = 8_400)]
    pub pull_requests: usize,
    /// Seed; equal seeds and sizes give equal bytes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// Arguments of `pretrain-demo`.
#[derive(Debug, Args)]
pub struct PretrainArgs {
    /// Arguments handed on to the training program; `-- --help` lists them.
    #[arg(last = true, value_name = "ARGS")]
    pub rest: Vec<String>,
}

/// Arguments of `golden`.
#[derive(Debug, Args)]
pub struct GoldenArgs {
    /// `difflib`: random pairs with CPython's ratio and unified diff, for swerl-reward.
    #[arg(value_name = "NAME", value_parser = ["difflib"])]
    pub name: String,
    /// How many pairs.
    #[arg(long, value_name = "N", default_value_t = 600)]
    pub pairs: usize,
    /// Seed; equal seeds and sizes give equal pairs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Test on the pairs, then put the committed file back.
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `package`.
#[derive(Debug, Args)]
pub struct PackageArgs {
    /// Also build each packaged crate from its archive (slow: everything is built again).
    #[arg(long)]
    pub verify: bool,
    /// Use the network; without it the crates come from the local registry cache.
    #[arg(long)]
    pub online: bool,
}

/// Arguments of `features`.
#[derive(Debug, Args)]
pub struct FeaturesArgs {
    /// Backends to check [default: wgpu cuda tch]
    #[arg(value_name = "BACKEND")]
    pub backends: Vec<String>,
}

/// Arguments of `e2e`.
#[derive(Debug, Args)]
pub struct E2eArgs {
    /// `report`: the page of `swerl view` in headless Chromium. `tensorboard`: its event files through
    /// TensorBoard's own reader (a python3 that has the package tensorboard).
    #[arg(value_name = "NAME", value_parser = ["report", "tensorboard"])]
    pub name: String,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// When a step fails; the message names it.
    pub fn run(self) -> Result<()> {
        let workspace = Workspace::locate()?;
        match self.task {
            Task::Check(args) => check::run(&workspace, &args),
            Task::Tidy => tidy::run(&workspace),
            Task::SampleData(args) => command::sample_data::run(&workspace, args),
            Task::PretrainDemo(args) => command::pretrain_demo::run(&workspace, &args),
            Task::Golden(args) => command::golden::run(&workspace, &args),
            Task::Package(args) => command::package::run(&workspace, &args),
            Task::Features(args) => command::features::run(&workspace, &args),
            Task::E2e(args) => command::e2e::run(&workspace, &args),
        }
    }
}
