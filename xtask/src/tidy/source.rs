//! Rules on Rust source files.
//!
//! - at most [`MAX_LINES`] lines, tests included: a file is one concept;
//! - `//!` first: each file says what it is for;
//! - no names that mean nothing ([`BANNED_NAMES`]): `foo.rs` + `foo/`, never `mod.rs`;
//! - integration tests are one program a crate, `tests/it/main.rs`: fewer links, faster builds;
//! - no glob re-exports: the public names are written down;
//! - a library crate starts processes in one file at most, and reads no environment variables.

use std::collections::BTreeMap;

use super::{Finding, Project};

/// Longest allowed Rust file, in lines.
pub const MAX_LINES: usize = 400;

/// File names that say nothing about their contents.
pub const BANNED_NAMES: [&str; 7] =
    ["mod.rs", "base.rs", "util.rs", "utils.rs", "common.rs", "helpers.rs", "misc.rs"];

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    let mut spawning: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in &project.texts {
        if !path.ends_with(".rs") {
            continue;
        }
        let mut add = |line, message: String| {
            findings.push(Finding { path: path.clone(), line, message });
        };
        let lines = text.lines().count();
        if lines > MAX_LINES {
            add(0, format!("{lines} lines; the limit is {MAX_LINES}: split it by concept"));
        }
        // A crate's front page may be its README, which is then tested as documentation.
        let first = text.lines().next().unwrap_or("");
        let readme = path.ends_with("/src/lib.rs")
            && first.starts_with("#!")
            && first.contains("doc = include_str!(\"../README.md\")");
        if !first.starts_with("//!") && !readme {
            add(1, "the first line must be a `//!` that says what the file is for".into());
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if BANNED_NAMES.contains(&name) {
            add(0, format!("no file is called {name}: name the concept"));
        }
        if let Some((_, rest)) = path.split_once("/tests/")
            && path.starts_with("crates/")
            && !rest.contains('/')
            && !text.contains("\nfn main() {")
        {
            add(
                0,
                "integration tests live in tests/it/, listed in tests/it/main.rs; a program without a harness has a main"
                    .into(),
            );
        }
        for (index, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if code.starts_with("pub use ") && code.contains("::*") {
                add(index + 1, "no glob re-export: name what is public".into());
            }
            if is_library(path) && code.contains(concat!("env::", "var")) && !code.starts_with("//")
            {
                add(index + 1, "a library reads no environment variables: take an argument".into());
            }
        }
        if is_library(path) && starts_processes(text) {
            let package = path.split("/src/").next().unwrap_or(path);
            spawning.entry(package.to_owned()).or_default().push(path);
        }
    }
    for (package, files) in spawning {
        if files.len() > 1 {
            findings.push(Finding {
                path: package,
                line: 0,
                message: format!(
                    "processes are started in {}: one module is enough",
                    files.join(", ")
                ),
            });
        }
    }
}

/// Whether `text` names the standard library's `Command` with its constructor.
fn starts_processes(text: &str) -> bool {
    let constructor = concat!("Command::", "new(");
    let in_a_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(constructor).any(|(at, _)| !text[..at].ends_with(in_a_name))
}

/// Source of a published library: a crate's `src/` without its program.
fn is_library(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.contains("/src/main")
        && !path.contains("/src/command/")
        && !path.contains("/src/bin/")
}
