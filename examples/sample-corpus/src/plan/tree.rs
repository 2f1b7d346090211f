//! The files of a repository's first commit: sources, module lists, manifest, lock file and notes.

use super::build::Tracked;
use crate::source::Package;
use crate::template::Language;

/// The dependencies every manifest names; none of them exists.
pub(super) const DEPENDENCIES: [&str; 4] = ["amberlog", "fastgrid", "papertools", "tinyqueue"];

/// Path and text of the manifest and of the lock file.
pub(super) fn manifests(
    language: Language,
    repository: &str,
) -> ((String, String), (String, String)) {
    let name = repository.rsplit('/').next().unwrap_or(repository);
    let module = name.replace('-', "_");
    let lines = |open: &str, close: &str| -> String {
        DEPENDENCIES.iter().map(|d| format!("{open}{d}{close}1.0.0\"\n")).collect()
    };
    let locked: String = DEPENDENCIES
        .iter()
        .map(|d| format!("[[package]]\nname = \"{d}\"\nversion = \"1.0.0\"\n\n"))
        .collect();
    match language {
        Language::Python => (
            (
                "pyproject.toml".to_owned(),
                format!(
                    "[tool.poetry]\nname = \"{name}\"\nversion = \"0.1.0\"\n\n\
                     [tool.poetry.dependencies]\n{}",
                    lines("", " = \"")
                ),
            ),
            ("poetry.lock".to_owned(), locked),
        ),
        Language::Rust => (
            (
                "Cargo.toml".to_owned(),
                format!(
                    "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                     [lib]\npath = \"src/{module}.rs\"\n\n[dependencies]\n{}",
                    lines("", " = \"")
                ),
            ),
            ("Cargo.lock".to_owned(), locked),
        ),
    }
}

/// Sets the version on the line of `dependency`, or on the line after its name.
pub(super) fn replace_version(text: &str, dependency: &str, version: &str) -> String {
    let mut named = false;
    text.lines()
        .map(|line| {
            let direct = line.starts_with(&format!("{dependency} = "));
            let below = named && line.starts_with("version = ");
            named = line == format!("name = \"{dependency}\"");
            match (direct, below) {
                (true, _) => format!("{dependency} = \"{version}\"\n"),
                (_, true) => format!("version = \"{version}\"\n"),
                _ => format!("{line}\n"),
            }
        })
        .collect()
}

/// Path and text of every file of the first commit.
pub(super) fn initial_files(
    language: Language,
    name: &str,
    packages: &[Package],
    files: &[Tracked],
) -> Vec<(String, String)> {
    let (manifest, lock) = manifests(language, name);
    let mut initial = vec![manifest, lock];
    for package in packages {
        initial.push((package.constants.path.clone(), package.constants.text.clone()));
    }
    initial.extend(files.iter().map(|file| (file.file.path.clone(), file.file.text(&[]))));
    if language == Language::Rust {
        let module = name.rsplit('/').next().unwrap_or(name).replace('-', "_");
        let list: String = packages.iter().map(|p| format!("pub mod {};\n", p.name)).collect();
        initial.push((format!("src/{module}.rs"), list));
        for package in packages {
            let folder = format!("src/{}/", package.name);
            let mut list: Vec<String> = initial
                .iter()
                .filter_map(|(path, _)| path.strip_prefix(&folder)?.strip_suffix(".rs"))
                .map(|stem| format!("pub mod {stem};\n"))
                .collect();
            list.sort();
            initial.push((format!("src/{}.rs", package.name), list.concat()));
        }
    }
    initial
}
