//! Documentation: prose files, licences, change logs, everything but programs below `docs/`.

use crate::language::{extension, language};

const EXTENSIONS: [&str; 13] = [
    "md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "rdoc", "pod", "tex", "org",
    "textile", "wiki",
];

/// Names in lower case, without extension.
const NAMES: [&str; 16] = [
    "readme",
    "changelog",
    "changes",
    "history",
    "news",
    "licence",
    "license",
    "copying",
    "authors",
    "contributors",
    "maintainers",
    "codeowners",
    "contributing",
    "notice",
    "todo",
    "security",
];

/// Text files that programs read.
const NOT_PROSE: [&str; 3] = ["requirements", "constraints", "cmakelists"];

/// Whether the path is that of documentation.
#[must_use]
pub fn is_documentation(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let stem = name.split('.').next().unwrap_or(name);
    if NOT_PROSE.iter().any(|start| stem.starts_with(start)) {
        return false;
    }
    let prose = extension(path).is_some_and(|end| EXTENSIONS.contains(&end.as_str()));
    let named = NAMES.contains(&stem) && language(path).is_none();
    let folder =
        folders.split('/').any(|folder| matches!(folder, "doc" | "docs" | "documentation"));
    prose || named || (folder && language(path).is_none())
}

#[cfg(test)]
mod tests {
    use super::is_documentation;

    #[test]
    fn names() {
        for path in ["README.md", "LICENSE", "docs/a.html", "a/CHANGES.rst", "doc/conf.ini", "NEWS"]
        {
            assert!(is_documentation(path), "{path}");
        }
        for path in [
            "docs/conf.py",
            "src/readme.rs",
            "requirements.txt",
            "CMakeLists.txt",
            "docs.rs",
            "a.py",
        ] {
            assert!(!is_documentation(path), "{path}");
        }
    }
}
