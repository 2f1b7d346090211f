//! Hunks that change the layout alone.
//!
//! White space is compared as a whole where it means nothing. In languages whose indentation is
//! meaning only blank lines and white space at the ends of lines are layout.

use super::hunk::{ChangedFile, Hunk};
use crate::language::language;

/// Whether the hunk changes white space that means nothing in this file.
#[must_use]
pub fn is_layout(file: &ChangedFile<'_>, hunk: &Hunk<'_>) -> bool {
    let indented = !matches!(
        language(file.path),
        Some(
            "C" | "C++"
                | "C#"
                | "Java"
                | "JavaScript"
                | "TypeScript"
                | "Go"
                | "Rust"
                | "Kotlin"
                | "PHP"
                | "Swift"
                | "CSS"
                | "Dart"
                | "Scala"
                | "Solidity"
                | "CUDA"
        )
    );
    let side = |lines: &[&str]| -> Vec<String> {
        if indented {
            let trimmed = lines.iter().map(|line| line.trim_end().to_owned());
            return trimmed.filter(|line| !line.is_empty()).collect();
        }
        // Words stay apart: `return x` is not `returnx`.
        let words = lines.iter().flat_map(|line| line.split_whitespace());
        words.map(str::to_owned).collect()
    };
    side(&hunk.removed) == side(&hunk.added)
}

#[cfg(test)]
mod tests {
    use super::is_layout;
    use crate::filter::hunk::{ChangedFile, hunks};

    #[track_caller]
    fn check(expected: bool, path: &str, old: &str, new: &str) {
        let file = ChangedFile { path, old, new };
        let found = hunks(old, new);
        assert!(!found.is_empty());
        assert_eq!(found.iter().all(|hunk| is_layout(&file, hunk)), expected, "{old:?} {new:?}");
    }

    #[test]
    fn layout() {
        check(true, "a.js", "if (x) {\ny()\n}\n", "if (x) {\n  y()\n}\n");
        check(true, "a.js", "f(a,\n  b)\n", "f(a, b)\n");
        check(true, "a.py", "x = 1  \n", "x = 1\n");
        check(true, "a.py", "x = 1\ny = 2\n", "x = 1\n\ny = 2\n");
        check(true, "a.py", "x = 1\r\n", "x = 1\n");
        check(false, "a.py", "if x:\n    y()\nz()\n", "if x:\n    y()\n    z()\n");
        check(false, "a.js", "return x\n", "return y\n");
        check(false, "a.c", "unsigned x\n", "unsignedx\n");
    }
}
