//! Every source file is valid in its language, with its bugs and without.
//!
//! Python files are parsed by `ast.parse` in one python3 process, Rust crates are checked by one
//! rustc each; where the program is missing the test says so and passes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use swerl_sample_corpus::Language;

use crate::support::{Corpus, git};

fn exists(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("{program} is missing: nothing checked");
    }
    found
}

/// The first and the last commit of the main branch.
fn states(folder: &Path) -> [String; 2] {
    let root = git(folder, &["rev-list", "--max-parents=0", "main"]);
    [root.trim().to_owned(), "main".to_owned()]
}

#[test]
fn python_files_parse() {
    if !exists("python3") {
        return;
    }
    const SCRIPT: &str = "import ast, json, sys\n\
                          for path, text in json.load(sys.stdin): ast.parse(text, path)\n";
    let corpus = Corpus::shared();
    let mut files = Vec::new();
    for repository in &corpus.report.repositories {
        if repository.language == Language::Python {
            for commit in states(&corpus.repository(&repository.name)) {
                files.extend(corpus.sources(repository, &commit));
            }
        }
    }
    assert!(files.len() > 40);
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = serde_json::to_vec(&files).unwrap();
    python.stdin.take().unwrap().write_all(&input).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn rust_crates_compile() {
    if !exists("rustc") {
        return;
    }
    let corpus = Corpus::shared();
    for repository in &corpus.report.repositories {
        if repository.language != Language::Rust {
            continue;
        }
        let folder = corpus.repository(&repository.name);
        for commit in states(&folder) {
            let tree = tempfile::tempdir().unwrap();
            for (path, text) in corpus.sources(repository, &commit) {
                let path = tree.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let manifest = git(&folder, &["show", &format!("{commit}:Cargo.toml")]);
            let root = manifest.split("path = \"").nth(1).unwrap().split('"').next().unwrap();
            let output = Command::new("rustc")
                .args(["--edition=2021", "--crate-type=lib", "--emit=metadata", "-Awarnings", "-o"])
                .arg(tree.path().join("out.rmeta"))
                .arg(tree.path().join(root))
                .output()
                .unwrap();
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} {commit}: {message}", repository.name);
        }
    }
}
