//! Rules on manifests: what the registry wants of a published crate, and the lints of all.

use toml::Value;

use super::{Finding, Project};

/// Keys of `[package]` that a published crate must have (own or inherited).
const REQUIRED: [&str; 10] = [
    "version",
    "edition",
    "rust-version",
    "description",
    "license",
    "repository",
    "readme",
    "keywords",
    "categories",
    "authors",
];

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    for package in &project.packages {
        let mut add = |message: String| {
            findings.push(Finding {
                path: format!("{}/Cargo.toml", package.dir),
                line: 0,
                message,
            });
        };
        let lints = package.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints != Some(&Value::Boolean(true)) {
            add("add `[lints] workspace = true`".into());
        }
        if !package.published() {
            continue;
        }
        if !package.dir.starts_with("crates/") {
            add("only packages in crates/ are published: add `publish = false`".into());
        }
        for key in REQUIRED {
            if package.field(key).is_none() {
                add(format!("a published crate needs package.{key}"));
            }
        }
        if let Some(readme) = package.field("readme").and_then(Value::as_str) {
            let path = format!("{}/{readme}", package.dir);
            if !project.paths.contains(&path) {
                add(format!("the readme {path} is missing"));
            }
        }
        let keywords = package.field("keywords").and_then(Value::as_array);
        for keyword in keywords.into_iter().flatten().filter_map(Value::as_str) {
            if keyword.len() > 20 || keyword.contains(' ') {
                add(format!(
                    "the registry refuses the keyword {keyword:?} (20 characters, no space)"
                ));
            }
        }
        if keywords.is_some_and(|list| list.len() > 5) {
            add("the registry takes at most 5 keywords".into());
        }
        for dependency in package.dependencies(&project.manifest) {
            // A dev-dependency without a version is left out of the package by cargo.
            if dependency.kind != "dev" && !dependency.has_version {
                add(format!("{} has no version: a published crate cannot use it", dependency.name));
            }
        }
    }
}
