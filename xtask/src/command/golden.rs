//! `cargo xtask golden`: golden files made anew by the scripts beside them.
//!
//! `golden difflib` writes `difflib_random.json` of swerl-reward with the `python3` on the PATH. With `--check`
//! it tests on the new pairs and puts the old file back: thousands of pairs without a large commit.

use std::fs;

use anyhow::{Context, Result};

use crate::{cli::GoldenArgs, shell::Call, workspace::Workspace};

/// Makes the file, and with `--check` tests on it.
///
/// # Errors
/// When Python or a test fails.
pub fn run(workspace: &Workspace, args: &GoldenArgs) -> Result<()> {
    let folder = "crates/swerl-reward/tests/golden";
    let name = format!("{folder}/difflib_random.json");
    let file = workspace.root.join(&name);
    let committed = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
    Call::python(&workspace.root)
        .args([format!("{folder}/make_difflib.py"), name])
        .args([args.pairs.to_string(), args.seed.to_string()])
        .run()?;
    if !args.check {
        return Ok(());
    }
    let tested = Call::cargo(&workspace.root)
        .args(["test", "-p", "swerl-reward", "--test", "it", "every_random_ratio_and_patch"])
        .run();
    fs::write(&file, committed).with_context(|| format!("putting {} back", file.display()))?;
    tested
}
