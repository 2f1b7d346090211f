//! Reading unified diffs, in one pass over the lines (cut at LF only).
//!
//! A file begins with `diff --git`, or with `---` where no such line came before. A hunk is
//! read by the two lengths of its header, so a removed line "-- x" is no file header. Lines
//! outside files and hunks are passed over: commit messages, `index`, modes.

use std::collections::BTreeMap;

use crate::format::is_python_space;

/// Why a text is no unified diff. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnidiffFailure {
    /// A hunk header before any file header.
    #[error("line {line}: a hunk outside a file")]
    HunkOutsideFile {
        /// The line of the hunk header.
        line: usize,
    },
    /// A line inside a hunk that begins with none of space, `+`, `-`, `\`.
    #[error("line {line}: no line of a hunk")]
    BadHunkLine {
        /// The line.
        line: usize,
    },
    /// The text or the file ends before the hunk has the lines that its header says.
    #[error("line {line}: the hunk is shorter than its header says")]
    ShortHunk {
        /// The line of the hunk header.
        line: usize,
    },
    /// One side gets more lines than the header says.
    #[error("line {line}: the hunk is longer than its header says")]
    LongHunk {
        /// The first line too many.
        line: usize,
    },
    /// A hunk header whose numbers do not fit into 64 bits.
    #[error("line {line}: a number of the hunk header is out of range")]
    BadHunkHeader {
        /// The line of the hunk header.
        line: usize,
    },
}

#[derive(Default)]
struct File {
    source: String,
    target: String,
    rename: Option<(String, Option<String>)>,
    binary: bool,
    headed: bool,
    hunks: Vec<String>,
}

/// The normalised patches of a unified diff by path; binary files and files without change left out.
///
/// # Errors
/// The first thing that makes the text no unified diff. Text without any file is an empty map.
pub fn parse_unidiff(text: &str) -> Result<BTreeMap<String, String>, UnidiffFailure> {
    let mut files: Vec<File> = Vec::new();
    let mut lines = text.split('\n').enumerate().map(|(at, line)| (at + 1, line)).peekable();
    while let Some((number, line)) = lines.next() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let (source, target) = git_names(names);
            files.push(File { source, target, ..File::default() });
        } else if let Some(name) = line.strip_prefix("--- ") {
            let below = lines.peek().and_then(|(_, below)| below.strip_prefix("+++ "));
            let Some(target) = below else { continue };
            // After `diff --git` the two lines belong to its file, else they begin one.
            if files.last().is_none_or(|file| file.headed || !file.hunks.is_empty()) {
                files.push(File::default());
            }
            if let Some(file) = files.last_mut() {
                (file.source, file.target, file.headed) =
                    (file_name(name), file_name(target), true);
            }
            lines.next();
        } else if let Some(lengths) = hunk_header(line) {
            let file = files.last_mut().ok_or(UnidiffFailure::HunkOutsideFile { line: number })?;
            let header = lengths.ok_or(UnidiffFailure::BadHunkHeader { line: number })?;
            file.hunks.push(read_hunk(&header, number, &mut lines)?);
        } else if let Some(file) = files.last_mut() {
            if let Some(name) = line.strip_prefix("rename from ") {
                file.rename = Some((name.trim_end_matches('\r').to_owned(), None));
            } else if let Some(name) = line.strip_prefix("rename to ") {
                if let Some((_, to)) = &mut file.rename {
                    *to = Some(name.trim_end_matches('\r').to_owned());
                }
            } else if (line.starts_with("Binary files ") && line.trim_end().ends_with(" differ"))
                || line.starts_with("GIT binary patch")
            {
                file.binary = true;
            }
        }
    }
    Ok(files.into_iter().filter_map(File::finish).collect())
}

impl File {
    fn finish(self) -> Option<(String, String)> {
        let (source, target) = (bare(&self.source), bare(&self.target));
        let named = self.rename.and_then(|(from, to)| to.map(|to| (from, to)));
        let both = self.source != "/dev/null" && self.target != "/dev/null";
        let renamed = named
            .or_else(|| (both && source != target).then(|| (source.to_owned(), target.to_owned())));
        let mut parts = Vec::new();
        let path = match renamed {
            Some((from, to)) => {
                parts.push(format!("rename from {from} to {to}"));
                from
            }
            None if self.source == "/dev/null" => target.to_owned(),
            None => source.to_owned(),
        };
        parts.extend(self.hunks);
        (!self.binary && !parts.is_empty()).then(|| (path, parts.join("\n")))
    }
}

struct Header<'a> {
    start: (u64, u64),
    length: (u64, u64),
    section: &'a str,
}

/// `@@ -1,2 +3,4 @@ section`; the inner `None` where a number is out of range.
fn hunk_header(line: &str) -> Option<Option<Header<'_>>> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, section) = rest.split_once(" @@")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let split = |range| -> Option<(&str, &str)> {
        let (start, length) = <str>::split_once(range, ',').unwrap_or((range, "1"));
        (digits(start) && digits(length)).then_some((start, length))
    };
    let (old, new) = (split(old)?, split(new)?);
    let number = |text: &str| text.parse::<u64>().ok();
    Some((|| {
        Some(Header {
            start: (number(old.0)?, number(new.0)?),
            length: (number(old.1)?, number(new.1)?),
            section: section.strip_prefix(' ').unwrap_or(section).trim_end_matches('\r'),
        })
    })())
}

/// Reads the lines of a hunk; gives its text with the header written anew, trimmed.
fn read_hunk<'a>(
    header: &Header<'_>,
    header_line: usize,
    lines: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> Result<String, UnidiffFailure> {
    let Header { start, length, section } = header;
    let mut text = format!("@@ -{},{} +{},{} @@", start.0, length.0, start.1, length.1);
    if !section.is_empty() {
        text.push(' ');
        text.push_str(section);
    }
    let (mut old, mut new) = (0, 0);
    while old < length.0 || new < length.1 {
        let short = UnidiffFailure::ShortHunk { line: header_line };
        let Some((number, line)) = lines.next() else { return Err(short) };
        text.push('\n');
        match line.as_bytes().first() {
            Some(b' ') => (old, new) = (old + 1, new + 1),
            Some(b'-') => old += 1,
            Some(b'+') => new += 1,
            Some(b'\\') => {}
            // Some tools strip the blank from empty context lines; the end of the text is no line.
            None | Some(b'\r') if lines.peek().is_some() => {
                text.push(' ');
                (old, new) = (old + 1, new + 1);
            }
            None => return Err(short),
            Some(_) => return Err(UnidiffFailure::BadHunkLine { line: number }),
        }
        text.push_str(line);
        if old > length.0 || new > length.1 {
            return Err(UnidiffFailure::LongHunk { line: number });
        }
    }
    if let Some((_, marker)) = lines.next_if(|(_, line)| line.starts_with("\\ ")) {
        text.push('\n');
        text.push_str(marker);
    }
    Ok(text.trim_matches(is_python_space).to_owned())
}

/// The two names of a `diff --git` line: quoted, or split where both halves agree, or at the first blank.
fn git_names(names: &str) -> (String, String) {
    let names = names.trim_end_matches('\r');
    if let Some((source, target)) = names.strip_prefix('"').and_then(|rest| rest.split_once("\" "))
    {
        return (source.to_owned(), target.trim_matches('"').to_owned());
    }
    let halves = names.match_indices(" b/").map(|(at, _)| (&names[..at], &names[at + 1..]));
    let agreed = halves.clone().find(|(source, target)| bare(source) == bare(target));
    let first = agreed.or_else(|| halves.clone().next()).or_else(|| names.split_once(' '));
    let (source, target) = first.unwrap_or((names, names));
    (source.to_owned(), target.to_owned())
}

/// A name of a `---` or `+++` line, without its time stamp and quotes.
fn file_name(name: &str) -> String {
    let name = name.split('\t').next().unwrap_or(name).trim_end_matches('\r');
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name).to_owned()
}

/// A path without git's prefix.
fn bare(name: &str) -> &str {
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}
