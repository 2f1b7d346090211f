//! File names that an issue's text mentions.

use crate::language::is_programming_file;
use crate::seed::is_plain_path;

/// Paths that the text names, in order, each once: `pkg/mod.py`, `mod.py`, `File "pkg/mod.py"`,
/// and, for dotted names such as `pkg.mod.func`, the modules they may be in. They may exist
/// below any folder of the repository, or nowhere.
#[must_use]
pub fn mentioned_paths(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut push = |path: String| {
        if is_plain_path(&path) && is_programming_file(&path) && !found.contains(&path) {
            found.push(path);
        }
    };
    let separator = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\\'));
    for word in text.split(separator) {
        let word = word.replace('\\', "/");
        let word = word.trim_matches(|c| matches!(c, '.' | '/' | '-'));
        if word.is_empty() {
            continue;
        }
        push(word.to_owned());
        // A path of the reporter's own machine: its tails may be ours.
        let mut rest = word;
        while let Some((_, tail)) = rest.split_once('/') {
            push(tail.to_owned());
            rest = tail;
        }
        let parts: Vec<&str> = word.split('.').collect();
        let is_name =
            |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if parts.len() > 1 && parts.iter().all(is_name) {
            for len in (1..=parts.len()).rev() {
                push(format!("{}.py", parts[..len].join("/")));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::mentioned_paths;

    #[test]
    fn finds_names() {
        for (text, expected) in [
            ("Crash in src/a.rs, line 3.", vec!["src/a.rs", "a.rs"]),
            (
                "File \"/srv/x/pkg/mod.py\", line 3",
                vec!["srv/x/pkg/mod.py", "x/pkg/mod.py", "pkg/mod.py", "mod.py"],
            ),
            ("`pkg.mod.func` is wrong", vec!["pkg/mod/func.py", "pkg/mod.py", "pkg.py"]),
            ("see C:\\a\\b.py", vec!["a/b.py", "b.py"]),
            ("../../etc/passwd.py", vec!["etc/passwd.py", "passwd.py"]),
            ("Nothing here. Really", vec![]),
        ] {
            assert_eq!(mentioned_paths(text), expected, "{text}");
        }
    }
}
