//! Files that hold tests, by the habits of many languages: a change of nothing else teaches no fix.

/// Whether the path is that of a test, by the habits of many languages.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    const FOLDERS: [&str; 11] = [
        "test",
        "tests",
        "testing",
        "testdata",
        "__tests__",
        "__mocks__",
        "__snapshots__",
        "spec",
        "specs",
        "e2e",
        "fixtures",
    ];
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let marked = |mark: &str| stem.ends_with(mark);
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || stem.starts_with("test_")
        || matches!(stem, "test" | "tests" | "conftest")
        || ["_test", "_tests", "_spec", "-test", "-spec"].iter().any(|mark| marked(mark))
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
        || path.rsplit('/').next().is_some_and(|name| {
            // Camel case: `PagerTest.java`, not `latest.java`.
            let stem = name.split('.').next().unwrap_or("");
            stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("Spec")
        })
}

#[cfg(test)]
mod tests {
    use super::is_test_file;

    #[test]
    fn test_files() {
        for path in [
            "tests/a.py",
            "a/test_b.py",
            "a_test.go",
            "x/a.spec.ts",
            "src/test/java/A.java",
            "PagerTest.java",
            "conftest.py",
            "testdata/x.json",
            "src/__snapshots__/a.snap",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in ["latest.py", "contest.rs", "src/testament.rs", "attest/a.py", "inspect.py"] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
