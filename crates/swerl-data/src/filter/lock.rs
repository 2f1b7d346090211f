//! Files that a package manager writes: lock files, frozen dependency lists, checksums.

/// Names in lower case.
const NAMES: [&str; 34] = [
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "pipfile.lock",
    "pdm.lock",
    "pylock.toml",
    "uv.lock",
    "conda-lock.yml",
    "gemfile.lock",
    "composer.lock",
    "go.sum",
    "go.work.sum",
    "mix.lock",
    "rebar.lock",
    "pubspec.lock",
    "podfile.lock",
    "cartfile.resolved",
    "package.resolved",
    "flake.lock",
    "packages.lock.json",
    "project.assets.json",
    "paket.lock",
    "gradle.lockfile",
    "module.bazel.lock",
    "stack.yaml.lock",
    "cabal.project.freeze",
    "pixi.lock",
    "manifest.toml",
];

/// Ends of names in lower case: tools without a name of their own follow the habit.
const ENDS: [&str; 5] = [".lock", ".lock.txt", ".lock.json", "-lock.json", "-lock.yaml"];

/// Whether a package manager writes this file.
#[must_use]
pub fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_lock_file;

    #[test]
    fn names() {
        for path in [
            "Cargo.lock",
            "a/b/package-lock.json",
            "go.sum",
            "Gemfile.lock",
            "x/uv.lock",
            "a.lock.txt",
        ] {
            assert!(is_lock_file(path), "{path}");
        }
        for path in ["lock.py", "package.json", "src/lock.rs", "go.mod", "requirements.txt"] {
            assert!(!is_lock_file(path), "{path}");
        }
    }
}
