//! `cargo xtask features`: type-checks swerl-model with the GPU backends.
//!
//! `cargo check` builds no device code. `DOCS_RS=1` tells build scripts of the backends that their
//! native libraries are absent, as on the documentation builder. Nothing is optimised, for
//! nothing runs but build scripts and macros.

use anyhow::{Context, Result, bail};

use crate::{cli::FeaturesArgs, shell::Call, workspace::Workspace};

const UNOPTIMISED: &str = "profile.dev.package.'*'.opt-level=0";

const BACKENDS: [&str; 3] = ["wgpu", "cuda", "tch"];

/// Checks each backend in turn; one that fails does not keep the next from being tried.
///
/// # Errors
/// When a name is unknown or a check fails.
pub fn run(workspace: &Workspace, args: &FeaturesArgs) -> Result<()> {
    let asked: Vec<&str> = if args.backends.is_empty() {
        BACKENDS.to_vec()
    } else {
        args.backends.iter().map(String::as_str).collect()
    };
    if let Some(unknown) = asked.iter().find(|name| !BACKENDS.contains(name)) {
        bail!("no backend is called {unknown:?}; known: {}", BACKENDS.join(", "));
    }
    let mut failed = Vec::new();
    for backend in asked {
        let result = Call::cargo(&workspace.root)
            .env("DOCS_RS", "1")
            .args(["check", "-p", "swerl-model", "--features", backend])
            .args(["--config", UNOPTIMISED])
            .run()
            .with_context(|| format!("swerl-model with {backend}"));
        if let Err(error) = result {
            eprintln!("xtask: {error:#}");
            failed.push(backend);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("these backends do not type-check here: {}", failed.join(", "))
    }
}
