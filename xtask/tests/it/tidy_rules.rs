//! Each house rule finds what it is for, and nothing else.

use xtask::{tidy::Project, workspace::Package};

const GOOD_MANIFEST: &str = r#"
[package]
name = "swerl-data"
version = "1.0.0"
edition = "2024"
rust-version = "1.95"
description = "d"
license = "MIT"
repository = "r"
readme = "README.md"
keywords = ["k"]
categories = ["c"]
authors = ["a"]
[dependencies]
serde = { workspace = true }
[lints]
workspace = true
"#;

const ROOT_MANIFEST: &str = r#"
[workspace.dependencies]
serde = "1"
burn = { version = "=0.22.1", default-features = false, features = ["std"] }
swerl-data = { path = "crates/swerl-data", version = "0.1.0" }
swerl-reward = { path = "crates/swerl-reward", version = "0.1.0" }
swerl-model = { path = "crates/swerl-model", version = "0.1.0" }
swerl-sample-corpus = { path = "examples/sample-corpus" }
"#;

/// A project that passes, with one package whose manifest is `manifest`.
fn project(manifest: &str) -> Project {
    let manifest: toml::Table = manifest.parse().expect("a test manifest is TOML");
    let name = manifest["package"]["name"].as_str().expect("a test manifest has a name").to_owned();
    let dir = format!("crates/{name}");
    let mut project = Project {
        paths: vec![format!("{dir}/README.md")],
        packages: vec![Package { name, dir, manifest }],
        manifest: ROOT_MANIFEST.parse().expect("the test manifest is TOML"),
        ..Project::default()
    };
    add(&mut project, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n");
    project
}

fn add(project: &mut Project, path: &str, text: &str) {
    project.paths.push(path.to_owned());
    project.texts.push((path.to_owned(), text.to_owned()));
}

/// The findings' messages hold the `expected` parts, one each, in order.
#[track_caller]
fn check(project: &Project, expected: &[&str]) {
    let found: Vec<String> = project.findings().iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, part) in found.iter().zip(expected) {
        assert!(found.contains(part), "{found:?} lacks {part:?}");
    }
}

#[track_caller]
fn check_file(path: &str, text: &str, expected: &[&str]) {
    let mut project = project(GOOD_MANIFEST);
    add(&mut project, path, text);
    check(&project, expected);
}

#[track_caller]
fn check_manifest(from: &str, to: &str, expected: &[&str]) {
    assert!(GOOD_MANIFEST.contains(from), "{from:?} is not in the manifest");
    check(&project(&GOOD_MANIFEST.replace(from, to)), expected);
}

#[test]
fn a_good_project_passes() {
    check(&project(GOOD_MANIFEST), &[]);
}

#[test]
fn source_files() {
    let lib = "crates/swerl-data/src/lib.rs";
    check_file(lib, "//! Purpose.\n", &[]);
    check_file(lib, "// Purpose.\n", &["lib.rs:1: the first line must be"]);
    let readme = "#![doc = include_str!(\"../README.md\")]\n";
    check_file(lib, readme, &[]);
    check_file("crates/swerl-data/src/seed.rs", readme, &["the first line must be"]);
    check_file(lib, "", &["the first line must be"]);
    check_file(lib, &format!("//! P.\n{}", "\n".repeat(399)), &[]);
    check_file(lib, &format!("//! P.\n{}", "\n".repeat(400)), &["401 lines"]);
    check_file("crates/a/src/b/mod.rs", "//! P.\n", &["no file is called mod.rs"]);
    check_file("crates/a/src/utils.rs", "//! P.\n", &["no file is called utils.rs"]);
    check_file("crates/a/tests/it/main.rs", "//! P.\n", &[]);
    check_file("crates/a/tests/other.rs", "//! P.\n", &["tests/it/"]);
    check_file(lib, "//! P.\npub use schema::*;\n", &["lib.rs:2: no glob re-export"]);
    let reads = concat!("//! P.\nlet x = std::env::", "var(\"X\");\n");
    check_file(lib, reads, &["no environment variables"]);
    check_file("crates/swerl/src/main.rs", reads, &[]);
}

#[test]
fn processes_start_in_one_module() {
    let spawns = concat!("//! P.\nCommand::", "new(\"git\")\n");
    let mut project = project(GOOD_MANIFEST);
    add(&mut project, "crates/a/src/git.rs", spawns);
    check(&project, &[]);
    add(&mut project, "crates/a/src/other.rs", spawns);
    check(&project, &["crates/a: processes are started in"]);
}

#[test]
fn crate_edges() {
    let serde = "serde = { workspace = true }";
    // A name that is no member of this workspace is somebody else's business.
    check_manifest(serde, "swerl-reward.workspace = true", &[]);
    let mut both = project(&GOOD_MANIFEST.replace(serde, "swerl-reward.workspace = true"));
    let mut other = project(&GOOD_MANIFEST.replace("swerl-data", "swerl-reward"));
    both.paths.append(&mut other.paths);
    both.packages.append(&mut other.packages);
    check(&both, &["swerl-data must not depend on swerl-reward"]);
    check_manifest(serde, "burn.workspace = true", &["swerl-data knows nothing of Burn"]);
    check_manifest("\"swerl-data\"", "\"swerl-new\"", &["no edges"]);
}

#[test]
fn backends() {
    let grpo = GOOD_MANIFEST.replace("swerl-data", "swerl-grpo");
    let with = |line: &str| project(&grpo.replace("serde = { workspace = true }", line));
    check(&with("burn.workspace = true"), &[]);
    check(&with("burn = { workspace = true, features = [\"cuda\"] }"), &["burn/cuda"]);
    check(&with("burn = { version = \"1\" }"), &["default features are on"]);
    check(&with("[dev-dependencies]\nburn = { version = \"1\", features = [\"flex\"] }"), &[]);
    let table = |name: &str, features: &str| {
        let text = GOOD_MANIFEST.replace("swerl-data", name);
        project(&format!("{text}\n[features]\n{features}\n"))
    };
    check(&table("swerl-model", "cuda = [\"burn/cuda\"]"), &[]);
    check(
        &table("swerl-model", "default = [\"flex\"]\nflex = [\"burn/flex\"]"),
        &["default features"],
    );
    check(&table("swerl-grpo", "cuda = [\"burn/cuda\"]"), &["only swerl-model"]);
    check(&table("swerl", "cuda = [\"swerl-model/cuda\"]"), &[]);
}

#[test]
fn manifests() {
    check_manifest("license = \"MIT\"\n", "", &["needs package.license"]);
    check_manifest("[lints]\nworkspace = true", "", &["[lints]"]);
    check_manifest("\"README.md\"", "\"OTHER.md\"", &["OTHER.md is missing"]);
    check_manifest("[\"k\"]", "[\"a keyword with spaces\"]", &["refuses the keyword"]);
    check_manifest("[\"k\"]", "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]", &["at most 5"]);
    let serde = "serde = { workspace = true }";
    check_manifest(serde, "swerl-sample-corpus.workspace = true", &["has no version"]);
}

#[test]
fn changelog_has_unreleased() {
    let mut project = project(GOOD_MANIFEST);
    project.texts[0].1 = "# Changelog\n\n## [0.1.0]\n".to_owned();
    check(&project, &["needs a section"]);
}

#[test]
fn machine_paths() {
    let line = concat!("see /ho", "me/main\n");
    check_file("docs/a.md", line, &["docs/a.md:1: "]);
    check_file("docs/a.md", concat!("https://example.com/ho", "me/main\n"), &[]);
    check_file("crates/a/src/lib.rs", concat!("//! P\nlet x = \"/t", "mp/x\";\n"), &["lib.rs:2"]);
}

#[test]
fn links() {
    let lib = "crates/swerl-data/README.md";
    check_file("docs/a.md", &format!("[x](../{lib}) [y](#part) [z](https://a.b/c)\n"), &[]);
    check_file("docs/a.md", "[x](../crates)\n", &[]);
    check_file("docs/a.md", "text [x](missing.md#there)\n", &["a.md:1: the link leads nowhere"]);
    check_file("docs/a.md", "[x](../../outside)\n", &["leads nowhere"]);
    check_file("docs/a.md", "```text\n[x](missing.md)\n```\n", &[]);
}
