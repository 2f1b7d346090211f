//! `cargo xtask e2e`: checks that need a program of somebody else: a browser, TensorBoard.
//!
//! - `report`: the page of `swerl view` in headless Chromium, by `crates/swerl/tests/browser/report.py`.
//! - `tensorboard`: the event files of `swerl view --tensorboard` through TensorBoard's own reader, by
//!   `crates/swerl/tests/browser/tensorboard.py`.
//!
//! They are no part of `check`: a machine may have neither. Without what one needs it fails and says so.

use std::env;

use anyhow::{Context, Result};

use crate::{cli::E2eArgs, shell::Call, workspace::Workspace};

/// Builds the command and runs one check.
///
/// # Errors
/// When the build or the check fails.
pub fn run(workspace: &Workspace, args: &E2eArgs) -> Result<()> {
    Call::cargo(&workspace.root)
        .args(["build", "-p", "swerl", "--bin", "swerl"])
        .run()
        .context("building the command")?;
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.root.join("target"), |dir| workspace.root.join(dir));
    let (command, out) = (target.join("debug/swerl"), target.join("e2e"));
    let script = format!("crates/swerl/tests/browser/{}.py", args.name);
    Call::python(&workspace.root)
        .args([script.as_str(), &command.to_string_lossy(), &out.to_string_lossy()])
        .run()
        .with_context(|| format!("the check {}", args.name))
}
