//! Scripts and styles squeezed by a program: by name, or by lines that nobody writes.

use super::hunk::ChangedFile;
use crate::language::extension;

/// Mean bytes per line from which on a script or style counts as squeezed. Source: the threshold
/// that GitHub's linguist uses.
const MEAN_LINE: usize = 110;
/// Texts below this size in bytes are judged by name alone.
const LEAST_BYTES: usize = 512;

/// Whether the file is squeezed.
#[must_use]
pub fn is_minified(file: &ChangedFile<'_>) -> bool {
    let lower = file.path.to_ascii_lowercase();
    if [".min.js", ".min.mjs", ".min.css", "-min.js", "-min.css"].iter().any(|e| lower.ends_with(e))
    {
        return true;
    }
    if !matches!(extension(file.path).as_deref(), Some("js" | "mjs" | "cjs" | "css")) {
        return false;
    }
    let text = if file.new.is_empty() { file.old } else { file.new };
    text.len() >= LEAST_BYTES && text.len() / text.lines().count().max(1) > MEAN_LINE
}

#[cfg(test)]
mod tests {
    use super::is_minified;
    use crate::filter::hunk::ChangedFile;

    #[test]
    fn names_and_lines() {
        let wide = "var a=1;".repeat(100);
        let plain = "var a = 1;\n".repeat(100);
        for (path, new, expected) in [
            ("a.min.js", "x", true),
            ("lib/a.js", wide.as_str(), true),
            ("lib/a.js", plain.as_str(), false),
            ("lib/a.py", wide.as_str(), false),
            ("lib/a.js", "short();", false),
            ("admin.js", "x", false),
        ] {
            assert_eq!(is_minified(&ChangedFile { path, old: "", new }), expected, "{path}");
            let gone = ChangedFile { path, old: new, new: "" };
            assert_eq!(is_minified(&gone), expected, "{path} deleted");
        }
    }
}
