//! Changes of version numbers and nothing else.
//!
//! A file is bumped if both texts become equal once every version number (`1.2`, `v1.2.3-rc.1`)
//! is blanked out. In a programming file only lines that say "version" are blanked: `timeout =
//! 1.5` is no version there.

use crate::language::{is_lock_file, is_programming_file};

/// Whether the two texts of `path` differ in version numbers only.
#[must_use]
pub fn is_version_bump(path: &str, old: &str, new: &str) -> bool {
    if old == new || old.is_empty() || new.is_empty() {
        return false;
    }
    let everywhere = !is_programming_file(path);
    let mut left = old.split_inclusive('\n');
    let mut right = new.split_inclusive('\n');
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                let says_so = |line: &str| line.to_ascii_lowercase().contains("version");
                let eligible = everywhere || (says_so(a) && says_so(b));
                if !eligible || blanked(a) != blanked(b) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Whether all changed files (path, old text, new text) are version bumps or lock files, with at
/// least one bump.
pub fn all_version_bumps<'a>(files: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> bool {
    let mut bumps = 0;
    for (path, old, new) in files {
        if is_version_bump(path, old, new) {
            bumps += 1;
        } else if !is_lock_file(path) {
            return false;
        }
    }
    bumps > 0
}

/// The line with every version number replaced by a NUL, which no text here holds.
fn blanked(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(letter) = line[at..].chars().next() {
        let starts = letter.is_ascii_digit()
            && !line[..at].chars().next_back().is_some_and(|c| c.is_ascii_digit() || c == '.');
        match version_len(&bytes[at..]) {
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
/// dots, then an optional suffix like `-rc.1`, `+5`, `b2`.
fn version_len(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut len = digits(0);
    let mut numbers = 1;
    while text.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
        numbers += 1;
    }
    if numbers < 2 {
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
    use super::{all_version_bumps, is_version_bump};

    #[track_caller]
    fn check(expected: bool, path: &str, old: &str, new: &str) {
        assert_eq!(is_version_bump(path, old, new), expected, "{path} {old:?} {new:?}");
    }

    #[test]
    fn bumps() {
        check(true, "Cargo.toml", "version = \"1.2.3\"\n", "version = \"1.2.4\"\n");
        check(true, "package.json", "\"x\": \"^1.2.3\"", "\"x\": \"^2.0.0-rc.1\"");
        check(true, "a/__init__.py", "__version__ = '1.2.3'\n", "__version__ = '1.3.0b1'\n");
        check(false, "a.py", "timeout = 1.5\n", "timeout = 2.5\n");
        check(false, "Cargo.toml", "x = 1\n", "x = 2\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "y = \"1.3\"\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "x = \"1.3\"\ny\n");
        check(false, "Cargo.toml", "x = \"1.2\"\n", "x = \"1.2\"\n");
        check(false, "Cargo.toml", "", "x = \"1.2\"\n");
    }

    #[test]
    fn lock_files_ride_along() {
        let bump = ("Cargo.toml", "v = \"1.2\"", "v = \"1.3\"");
        assert!(all_version_bumps([bump, ("Cargo.lock", "a", "b")].into_iter()));
        assert!(!all_version_bumps([bump, ("src/a.rs", "a", "b")].into_iter()));
        assert!(!all_version_bumps([("Cargo.lock", "a", "b")].into_iter()));
    }
}
