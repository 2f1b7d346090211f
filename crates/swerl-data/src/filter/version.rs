//! Changes of version numbers and nothing else.
//!
//! A hunk is a bump if its two sides become equal, line by line, once every version number
//! (`1.2`, `v1.2.3-rc.1`, the `v4` of `checkout@v4`) is blanked out. In a programming file only
//! lines that say "version" are blanked: `timeout = 1.5` is no version there.

use super::hunk::{ChangedFile, Hunk};
use crate::language::is_programming_file;

/// Whether a hunk of a file changes version numbers and nothing else.
#[must_use]
pub fn is_bump(file: &ChangedFile<'_>, hunk: &Hunk<'_>) -> bool {
    let everywhere = !is_programming_file(file.path);
    let says_so = |line: &str| line.to_ascii_lowercase().contains("version");
    !hunk.removed.is_empty()
        && hunk.removed.len() == hunk.added.len()
        && hunk.removed.iter().zip(&hunk.added).all(|(old, new)| {
            let eligible = everywhere || (says_so(old) && says_so(new));
            old == new || (eligible && blanked(old) == blanked(new))
        })
}

/// The line with every version number replaced by a NUL, which no text here holds.
fn blanked(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(letter) = line[at..].chars().next() {
        let starts = letter.is_ascii_digit()
            && !line[..at].chars().next_back().is_some_and(|c| c.is_ascii_digit() || c == '.');
        match version_len(&bytes[at..], line[..at].ends_with("@v")) {
            Some(len) if starts => {
                out.push('\0');
                at += len;
            }
            _ => {
                out.push(letter);
                at += letter.len_utf8();
            }
        }
    }
    out
}

/// The length of the version number that `text` starts with: at least two numbers joined by
/// dots, then an optional suffix like `-rc.1`, `+5`, `b2`. One number is enough for a `tag`: it
/// stands behind `@v`.
fn version_len(text: &[u8], tag: bool) -> Option<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut len = digits(0);
    let mut numbers = 1;
    while text.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
        numbers += 1;
    }
    if numbers < 2 && !(tag && len > 0) {
        return None;
    }
    let suffix = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+');
    if text.get(len).is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'-' | b'+')) {
        len += text[len..].iter().take_while(|b| suffix(b)).count();
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::is_bump;
    use crate::filter::hunk::{ChangedFile, hunks};

    #[track_caller]
    fn check(expected: bool, path: &str, old: &str, new: &str) {
        let file = ChangedFile { path, old, new };
        let found = hunks(old, new);
        let all = !found.is_empty() && found.iter().all(|hunk| is_bump(&file, hunk));
        assert_eq!(all, expected, "{path} {old:?} {new:?}");
    }

    #[test]
    fn bumps() {
        check(true, "Cargo.toml", "version = \"1.2.3\"\n", "version = \"1.2.4\"\n");
        check(true, "package.json", "\"x\": \"^1.2.3\"", "\"x\": \"^2.0.0-rc.1\"");
        check(true, "a/__init__.py", "__version__ = '1.2.3'\n", "__version__ = '1.3.0b1'\n");
        check(true, "ci.yml", "- uses: a/checkout@v3\n", "- uses: a/checkout@v4\n");
        check(true, "a.toml", "a = \"1.0\"\nx\nb = \"2.0\"\n", "a = \"1.1\"\nx\nb = \"2.1\"\n");
        check(false, "a.py", "timeout = 1.5\n", "timeout = 2.5\n");
        check(false, "Cargo.toml", "x = 1\n", "x = 2\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "y = \"1.3\"\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "x = \"1.3\"\ny\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "x = \"1.2\"\n");
        check(false, "Cargo.toml", "", "x = \"1.2\"\n");
        check(false, "ci.yml", "python: v3\n", "python: v4\n");
    }
}
