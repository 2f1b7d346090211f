//! The workspace on disk: its root, its files and its package manifests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::shell::Call;

/// The workspace.
#[derive(Debug)]
pub struct Workspace {
    /// Folder of the workspace manifest.
    pub root: PathBuf,
}

/// One package and its parsed manifest.
#[derive(Debug)]
pub struct Package {
    /// Package name.
    pub name: String,
    /// Folder, relative to the workspace root, with `/` between the parts.
    pub dir: String,
    /// The manifest as written (workspace inheritance not resolved).
    pub manifest: Table,
}

/// One dependency of a package, with workspace inheritance resolved.
#[derive(Debug)]
pub struct Dependency {
    /// Name of the depended-on package.
    pub name: String,
    /// `normal`, `dev` or `build`.
    pub kind: &'static str,
    /// Features asked for by the package and by the workspace entry.
    pub features: Vec<String>,
    /// Whether default features are on.
    pub default_features: bool,
    /// Whether a registry version is given.
    pub has_version: bool,
}

impl Workspace {
    /// The workspace that this program was compiled in.
    ///
    /// # Errors
    /// When the folder is gone.
    pub fn locate() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no parent folder")?
            .canonicalize()
            .context("the workspace that xtask was built from is gone; build it again")?;
        Ok(Self { root })
    }

    /// Every file that git tracks or would track, relative to the root, sorted. Where git cannot
    /// tell (an unpacked archive), every file outside `target`, `.git` and the like.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn files(&self) -> Result<Vec<String>> {
        let listing = Call::git(&self.root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .read();
        let mut files: Vec<String> = match listing {
            Ok(listing) => listing
                .split('\0')
                .filter(|path| !path.is_empty() && self.root.join(path).is_file())
                .map(str::to_owned)
                .collect(),
            Err(_) => self.walk()?,
        };
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn walk(&self) -> Result<Vec<String>> {
        let mut files = Vec::new();
        let mut pending = vec![String::new()];
        while let Some(dir) = pending.pop() {
            let full = self.root.join(&dir);
            for entry in fs::read_dir(&full).with_context(|| format!("reading {dir:?}"))? {
                let entry = entry.with_context(|| format!("reading {dir:?}"))?;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
                let kind = entry.file_type().with_context(|| format!("reading {path}"))?;
                if kind.is_file() && !name.ends_with(".tmp") {
                    files.push(path);
                } else if kind.is_dir() && !["target", ".git"].contains(&name.as_str()) {
                    pending.push(path);
                }
            }
        }
        Ok(files)
    }

    /// Text of a file, or `None` when it is not UTF-8.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text(&self, path: &str) -> Result<Option<String>> {
        let bytes = fs::read(self.root.join(path)).with_context(|| format!("reading {path}"))?;
        Ok(String::from_utf8(bytes).ok())
    }

    /// The workspace manifest.
    ///
    /// # Errors
    /// When it cannot be read or parsed.
    pub fn manifest(&self) -> Result<Table> {
        self.table("Cargo.toml")
    }

    fn table(&self, path: &str) -> Result<Table> {
        let text =
            fs::read_to_string(self.root.join(path)).with_context(|| format!("reading {path}"))?;
        text.parse().with_context(|| format!("parsing {path}"))
    }

    /// The members of the workspace, by name.
    ///
    /// # Errors
    /// When a manifest cannot be read or has no package name.
    pub fn packages(&self) -> Result<Vec<Package>> {
        let mut packages = BTreeMap::new();
        for path in self.files()? {
            let Some(dir) = path.strip_suffix("/Cargo.toml") else {
                continue;
            };
            let manifest = self.table(&path)?;
            let Some(package) = manifest.get("package") else {
                continue;
            };
            // A folder with a workspace of its own (fuzz targets, bindings) is no member.
            if manifest.contains_key("workspace") {
                continue;
            }
            let name = package
                .get("name")
                .and_then(Value::as_str)
                .with_context(|| format!("{path}: no package.name"))?
                .to_owned();
            let dir = dir.to_owned();
            packages.insert(name.clone(), Package { name, dir, manifest });
        }
        Ok(packages.into_values().collect())
    }
}

impl Package {
    /// Whether the package goes to the registry.
    #[must_use]
    pub fn published(&self) -> bool {
        self.field("publish") != Some(&Value::Boolean(false))
    }

    /// A key of `[package]`.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Value> {
        self.manifest.get("package")?.get(key)
    }

    /// All dependencies, target-specific ones included, with `workspace = true` resolved.
    #[must_use]
    pub fn dependencies(&self, workspace_manifest: &Table) -> Vec<Dependency> {
        let shared =
            workspace_manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
        let targets = self
            .manifest
            .get("target")
            .and_then(Value::as_table)
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table);
        let mut found = Vec::new();
        for table in std::iter::once(&self.manifest).chain(targets) {
            for (key, kind) in [
                ("dependencies", "normal"),
                ("dev-dependencies", "dev"),
                ("build-dependencies", "build"),
            ] {
                let entries = table.get(key).and_then(Value::as_table);
                for (name, value) in entries.into_iter().flatten() {
                    found.push(Dependency::resolve(name, kind, value, shared));
                }
            }
        }
        found
    }
}

impl Dependency {
    fn resolve(key: &str, kind: &'static str, own: &Value, shared: Option<&Value>) -> Self {
        let inherits = own.get("workspace") == Some(&Value::Boolean(true));
        let base = if inherits { shared.and_then(|table| table.get(key)) } else { None };
        let sources = || [Some(own), base].into_iter().flatten();
        let features = sources()
            .filter_map(|value| value.get("features").and_then(Value::as_array))
            .flatten()
            .filter_map(|feature| feature.as_str().map(str::to_owned))
            .collect();
        let name = sources()
            .find_map(|value| value.get("package").and_then(Value::as_str))
            .unwrap_or(key)
            .to_owned();
        // Where the workspace turns the defaults off, a member turns them on only by saying so.
        let default_features = sources()
            .find_map(|value| value.get("default-features").and_then(Value::as_bool))
            .unwrap_or(true);
        let has_version = sources().any(|value| value.is_str() || value.get("version").is_some());
        Self { name, kind, features, default_features, has_version }
    }
}
