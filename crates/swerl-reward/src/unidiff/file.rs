//! One file of a unified diff: its names, and its hunks as they are compared.

use crate::format::is_python_space;

/// The name of the missing side of a new or deleted file.
pub(super) const DEV_NULL: &str = "/dev/null";

/// A file while it is read.
pub(super) struct File<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) binary: bool,
    /// The hunks, each trimmed once the next one begins, joined by LF.
    pub(super) body: String,
}

impl<'a> File<'a> {
    pub(super) fn new(source: &'a str, target: &'a str) -> Self {
        Self { source, target, binary: false, body: String::new() }
    }

    pub(super) fn has_hunks(&self) -> bool {
        !self.body.is_empty()
    }

    /// Trims the hunk above, appends the header of the next, and gives the text for its lines.
    pub(super) fn begin_hunk(&mut self, header: &str) -> &mut String {
        self.trim();
        if self.has_hunks() {
            self.body.push('\n');
        }
        self.body.push_str(header);
        &mut self.body
    }

    fn trim(&mut self) {
        self.body.truncate(self.body.trim_end_matches(is_python_space).len());
    }

    /// The path and the normalised patch; nothing for a binary file or one without change.
    pub(super) fn finish(mut self) -> Option<(String, String)> {
        if self.binary {
            return None;
        }
        self.trim();
        let (source, target) = (bare(self.source), bare(self.target));
        if self.is_rename() {
            let mut text = format!("rename from {source} to {target}");
            if self.has_hunks() {
                text.push('\n');
                text.push_str(&self.body);
            }
            return Some((source.to_owned(), text));
        }
        let path = if self.source == DEV_NULL { target } else { source };
        self.has_hunks().then(|| (path.to_owned(), self.body))
    }

    /// Whether the names differ behind two characters, the place of git's prefixes.
    fn is_rename(&self) -> bool {
        let named = |name: &'a str| name.chars().skip(2);
        self.source != DEV_NULL
            && self.target != DEV_NULL
            && !named(self.source).eq(named(self.target))
    }
}

/// A name without its quotes and git's prefix.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// The two names of a `diff --git` line: cut before the last ` b/` if the first begins with
/// `a/`, else at the last blank.
pub(super) fn git_names(line: &str) -> Option<(&str, &str)> {
    let names = line.strip_prefix("diff --git ")?.split(['\t', '\n']).next()?;
    let plain = names.strip_prefix('"').unwrap_or(names);
    let prefixed = if plain.starts_with("a/") {
        // At least one character behind each prefix.
        let first = names.len() - plain.len() + "a/".len();
        let cut = |mark: &str| {
            let end = names.len().saturating_sub(1);
            let end = names.floor_char_boundary(end);
            names.get(..end).and_then(|names| names.rfind(mark)).filter(|&at| at > first)
        };
        cut(" b/").max(cut(" \"b/"))
    } else {
        None
    };
    let at = prefixed.or_else(|| {
        let last = names.char_indices().next_back()?.0;
        names[..last].rfind(' ').filter(|&at| at > 0)
    })?;
    Some((&names[..at], &names[at + 1..]))
}

/// The first name of a line that says that binary files differ: `Binary files A and B differ`, with or
/// without time stamps, or `Binary file A has changed`.
pub(super) fn binary_notice(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Binary file")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix(' ')?;
    let first = rest.chars().next()?.len_utf8();
    let ends = [" differ", " has changed"].map(|end| rest[first..].find(end).map(|at| at + first));
    let names = &rest[..ends.into_iter().flatten().min()?];
    let named = |side: &str| match side.split_once('\t') {
        None => !side.is_empty(),
        Some((name, stamp)) => !name.is_empty() && !stamp.is_empty() && stamp.chars().all(is_stamp),
    };
    let stamped = names.find('\t').unwrap_or(0);
    let two = names[stamped..].find(" and ").map(|at| at + stamped);
    let two = two.filter(|&at| named(&names[..at]) && named(&names[at + " and ".len()..]));
    let source = &names[..two.or_else(|| named(names).then_some(names.len()))?];
    source.split('\t').next()
}

fn is_stamp(c: char) -> bool {
    is_python_space(c) || c.is_ascii_digit() || matches!(c, ':' | '+' | '-')
}
