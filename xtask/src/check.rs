//! `cargo xtask check`: everything a change must pass, cheapest first, so that the common mistakes
//! show within seconds. The first failing step ends the run.

use anyhow::{Context, Result};

use crate::{cli::CheckArgs, shell::Call, tidy, workspace::Workspace};

/// Runs the steps in order.
///
/// # Errors
/// When a step fails; the message names it.
pub fn run(workspace: &Workspace, args: &CheckArgs) -> Result<()> {
    let cargo = || Call::cargo(&workspace.root);
    cargo()
        .args(["fmt", "--all", "--", "--check"])
        .run()
        .context("formatting: run `cargo fmt --all`")?;
    tidy::run(workspace)?;
    cargo()
        .args(["clippy", "--workspace", "--all-targets"])
        .args(["--", "-D", "warnings"])
        .run()
        .context("clippy")?;
    cargo()
        .env("RUSTDOCFLAGS", "-D warnings")
        .args(["doc", "--workspace", "--no-deps"])
        .run()
        .context("documentation")?;
    if args.skip_tests {
        eprintln!("xtask: tests skipped as asked");
    } else {
        cargo().args(["test", "--workspace"]).run().context("tests")?;
    }
    eprintln!("xtask: all checks passed");
    Ok(())
}
