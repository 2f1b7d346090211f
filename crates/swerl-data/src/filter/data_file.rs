//! Data, settings, translations, pictures: text or not, no program.

use crate::language::extension;

const EXTENSIONS: [&str; 36] = [
    "csv",
    "tsv",
    "json",
    "jsonl",
    "ndjson",
    "json5",
    "xml",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "po",
    "pot",
    "mo",
    "xlf",
    "xliff",
    "strings",
    "resx",
    "svg",
    "png",
    "jpg",
    "gif",
    "ico",
    "dat",
    "bin",
    "parquet",
    "geojson",
    "plist",
    "lst",
    "snap",
    "env",
    "sum",
    "editorconfig",
];

/// Whether the extension names data or settings.
#[must_use]
pub fn is_data_file(path: &str) -> bool {
    extension(path).is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use super::is_data_file;

    #[test]
    fn names() {
        for path in ["a.json", "locale/de/LC_MESSAGES/a.po", "x.SVG", ".github/workflows/ci.yml"] {
            assert!(is_data_file(path), "{path}");
        }
        for path in ["a.py", "Makefile", "json.rs", "query.sql", "README.md"] {
            assert!(!is_data_file(path), "{path}");
        }
    }
}
