//! The house rules that no compiler knows, as checks over the files of the project.
//!
//! Each rule has a module, takes a [`Project`] read once, and adds [`Finding`]s; none stops at its
//! first. `cargo xtask tidy` and the test of the same name run them all.

pub mod changelog;
pub mod edges;
pub mod links;
pub mod manifests;
pub mod paths;
pub mod source;

use std::fmt;

use anyhow::{Result, bail};
use toml::Table;

use crate::workspace::{Package, Workspace};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// File, relative to the root.
    pub path: String,
    /// Line from 1; 0 when the rule concerns the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// The files that the rules look at, read once.
#[derive(Debug, Default)]
pub struct Project {
    /// Paths of all files, sorted.
    pub paths: Vec<String>,
    /// The text files among them: path and contents.
    pub texts: Vec<(String, String)>,
    /// Members of the workspace.
    pub packages: Vec<Package>,
    /// The workspace manifest.
    pub manifest: Table,
}

/// File name endings of the texts that the rules read.
const TEXT_ENDINGS: [&str; 9] =
    [".rs", ".md", ".toml", ".py", ".pyi", ".sh", ".yml", ".yaml", "/run"];

impl Project {
    /// Reads the project.
    ///
    /// # Errors
    /// When a file or manifest cannot be read.
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let paths = workspace.files()?;
        let mut texts = Vec::new();
        for path in &paths {
            if TEXT_ENDINGS.iter().any(|ending| path.ends_with(ending))
                && let Some(text) = workspace.text(path)?
            {
                texts.push((path.clone(), text));
            }
        }
        Ok(Self { packages: workspace.packages()?, manifest: workspace.manifest()?, paths, texts })
    }

    /// Applies every rule; findings come sorted by file and line.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let rules: [fn(&Self, &mut Vec<Finding>); 6] = [
            changelog::check,
            edges::check,
            links::check,
            manifests::check,
            paths::check,
            source::check,
        ];
        let mut findings = Vec::new();
        for rule in rules {
            rule(self, &mut findings);
        }
        findings.sort();
        findings
    }
}

/// Runs all rules and prints what they find.
///
/// # Errors
/// When anything is found, or the project cannot be read.
pub fn run(workspace: &Workspace) -> Result<()> {
    let project = Project::read(workspace)?;
    let findings = project.findings();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => {
            eprintln!("xtask: tidy: {} files, nothing to say", project.paths.len());
            Ok(())
        }
        count => bail!("tidy: {count} finding(s), listed above"),
    }
}
