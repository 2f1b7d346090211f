//! `cargo xtask features`: type-checks swerl-model with the GPU backends.
//!
//! `cargo check` builds no device code. `DOCS_RS=1` tells the build script of `cuda` that LLVM is absent,
//! as on the documentation builder. `tch` knows no such variable but a feature, `burn-tch/doc`, which
//! swerl-model has no business with; a package made for the check in `target/` turns it on. Nothing
//! is optimised, for nothing runs but build scripts and macros.

use std::fs;

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
        let result = if backend == "tch" { tch(workspace) } else { plain(workspace, backend) };
        if let Err(error) = result {
            eprintln!("xtask: swerl-model with {backend}: {error:#}");
            failed.push(backend);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("these backends do not type-check here: {}", failed.join(", "))
    }
}

fn plain(workspace: &Workspace, backend: &str) -> Result<()> {
    Call::cargo(&workspace.root)
        .env("DOCS_RS", "1")
        .args(["check", "-p", "swerl-model", "--features", backend, "--config", UNOPTIMISED])
        .run()
}

/// Checks `tch` without LibTorch.
fn tch(workspace: &Workspace) -> Result<()> {
    let dir = workspace.root.join("target/check-tch");
    let model = workspace.root.join("crates/swerl-model");
    let manifest = format!(
        r#"[package]
name = "check-tch"
version = "0.0.0"
edition = "2024"

[dependencies]
swerl-model = {{ path = {:?}, features = ["tch"] }}
burn-tch = {{ version = "{}", default-features = false, features = ["doc"] }}

[workspace]
"#,
        model,
        burn_version(workspace)?
    );
    let write = |path: &str, text: &str| {
        fs::write(dir.join(path), text).with_context(|| format!("writing target/check-tch/{path}"))
    };
    fs::create_dir_all(dir.join("src")).context("making target/check-tch")?;
    write("Cargo.toml", &manifest)?;
    write("src/lib.rs", "//! Type-checks swerl-model with LibTorch.\n")?;
    let lock =
        fs::read_to_string(workspace.root.join("Cargo.lock")).context("reading Cargo.lock")?;
    write("Cargo.lock", &lock)?;
    Call::cargo(&dir).args(["check", "--config", UNOPTIMISED]).run()
}

/// The version requirement of Burn in the workspace manifest.
fn burn_version(workspace: &Workspace) -> Result<String> {
    let manifest = workspace.manifest()?;
    let version = manifest
        .get("workspace")
        .and_then(|table| table.get("dependencies")?.get("burn")?.get("version")?.as_str())
        .context("the workspace manifest pins no version of burn")?;
    Ok(version.to_owned())
}
