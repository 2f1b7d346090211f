//! `cargo xtask pretrain-demo`: trains the embedded base model of the examples.
//!
//! The training itself is the program `pretrain-demo` of the examples package; this is the
//! command line that its model card quotes. It is built with optimisation, since it runs long.

use anyhow::{Context, Result};

use crate::{cli::PretrainArgs, shell::Call, workspace::Workspace};

/// Runs the training program.
///
/// # Errors
/// When it fails.
pub fn run(workspace: &Workspace, args: &PretrainArgs) -> Result<()> {
    Call::cargo(&workspace.root)
        .args(["run", "--release", "-p", "swerl-examples", "--bin", "pretrain-demo", "--"])
        .args(&args.rest)
        .run()
        .context("pretraining the demo model")
}
