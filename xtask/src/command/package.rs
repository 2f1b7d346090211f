//! `cargo xtask package`: packages every published crate as `cargo publish` would.
//!
//! One cargo call packages them all, so that the crates may depend on each other before any of them is
//! on a registry. Without `--verify` the archives are made and checked but not compiled.

use anyhow::{Context, Result};

use crate::{cli::PackageArgs, shell::Call, workspace::Workspace};

/// Packages the published crates.
///
/// # Errors
/// When cargo refuses a crate.
pub fn run(workspace: &Workspace, args: &PackageArgs) -> Result<()> {
    let mut call = Call::cargo(&workspace.root).args(["package", "--allow-dirty"]);
    if !args.verify {
        call = call.args(["--no-verify"]);
    }
    if !args.online {
        call = call.args(["--offline"]);
    }
    for package in workspace.packages()? {
        if package.published() {
            call = call.args(["-p", &package.name]);
        }
    }
    call.run().context("packaging the published crates")
}
