//! Which crate may depend on which, and who may choose a backend.
//!
//! The edges are those of docs/architecture.md, one way and without cycles. A library takes its
//! `Device` as an argument and enables no Burn backend; swerl-model alone has backend features,
//! none of them on by default, because custom operations must know the backends when compiled.

use toml::Value;

use super::{Finding, Project};
use crate::workspace::{Dependency, Package};

/// Allowed edges between our packages (normal, dev and build dependencies).
const EDGES: [(&str, &[&str]); 7] = [
    ("swerl-data", &[]),
    ("swerl-reward", &[]),
    ("swerl-grpo", &[]),
    ("swerl-model", &["swerl-grpo"]),
    ("swerl-rollout", &["swerl-data", "swerl-reward", "swerl-grpo", "swerl-model"]),
    ("swerl-sample-corpus", &["swerl-data"]),
    ("xtask", &["swerl-sample-corpus"]),
];

/// Packages that compose others and may use any of ours.
const COMPOSING: [&str; 3] = ["swerl", "swerl-examples", "swerl-benches"];

/// Packages that must build without Burn.
const WITHOUT_BURN: [&str; 4] = ["swerl-data", "swerl-reward", "swerl-sample-corpus", "xtask"];

/// Burn features that choose a backend.
const BACKENDS: [&str; 13] = [
    "flex", "ndarray", "candle", "tch", "cuda", "cuda-jit", "rocm", "hip", "wgpu", "vulkan",
    "metal", "webgpu", "cpu",
];

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    let ours = |name: &str| project.packages.iter().any(|package| package.name == name);
    for package in &project.packages {
        let mut add = |message: String| {
            findings.push(Finding {
                path: format!("{}/Cargo.toml", package.dir),
                line: 0,
                message,
            });
        };
        let allowed = EDGES.iter().find(|(name, _)| *name == package.name).map(|(_, to)| *to);
        if allowed.is_none() && !COMPOSING.contains(&package.name.as_str()) {
            add("this package has no edges in xtask/src/tidy/edges.rs: add it to the design first"
                .into());
        }
        for dependency in package.dependencies(&project.manifest) {
            let name = dependency.name.as_str();
            if let Some(allowed) = allowed
                && ours(name)
                && !allowed.contains(&name)
                && !tests_itself(package, &dependency)
            {
                add(format!("{} must not depend on {name}", package.name));
            }
            let is_burn = name == "burn" || name.starts_with("burn-");
            if is_burn && WITHOUT_BURN.contains(&package.name.as_str()) {
                add(format!("{} knows nothing of Burn", package.name));
            }
            if is_burn && dependency.kind == "normal" && package.published() {
                if dependency.default_features {
                    add(format!("{name}: default features are on, and they choose a backend"));
                }
                for feature in &dependency.features {
                    if BACKENDS.contains(&feature.as_str()) {
                        add(format!("a library enables no backend: {name}/{feature}"));
                    }
                }
            }
        }
        if package.published() {
            feature_table(package, &mut add);
        }
    }
}

/// A crate may depend on itself in its tests, which is how they enable its features.
fn tests_itself(package: &Package, dependency: &Dependency) -> bool {
    dependency.kind == "dev" && dependency.name == package.name
}

/// Backend features: only in swerl-model (and forwarded by composing packages), never by default.
fn feature_table(package: &Package, add: &mut impl FnMut(String)) {
    let features = package.manifest.get("features").and_then(Value::as_table);
    for (feature, enables) in features.into_iter().flatten() {
        for enabled in enables.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let target = enabled.rsplit('/').next().unwrap_or(enabled);
            if !BACKENDS.contains(&target) {
                continue;
            }
            if feature == "default" {
                add(format!("the default features choose a backend: {enabled}"));
            }
            let forwards = enabled.starts_with("swerl-model/");
            let owner = package.name == "swerl-model";
            let composing = COMPOSING.contains(&package.name.as_str());
            if enabled.contains('/') && !owner && !(composing && forwards) {
                add(format!("feature {feature}: only swerl-model has backend features: {enabled}"));
            }
        }
    }
}
