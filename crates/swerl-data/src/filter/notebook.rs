//! Notebooks: programs wrapped in JSON with their outputs, whose differences are mostly noise.

use crate::language::extension;

/// Whether the path is that of a notebook (Jupyter, R Markdown's HTML, Zeppelin).
#[must_use]
pub fn is_notebook(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    matches!(extension(path).as_deref(), Some("ipynb" | "zpln")) || lower.ends_with(".nb.html")
}

#[cfg(test)]
mod tests {
    use super::is_notebook;

    #[test]
    fn names() {
        for (path, expected) in [
            ("a/b.ipynb", true),
            ("A.IPYNB", true),
            ("x.nb.html", true),
            ("ipynb.py", false),
            ("a.html", false),
        ] {
            assert_eq!(is_notebook(path), expected, "{path}");
        }
    }
}
