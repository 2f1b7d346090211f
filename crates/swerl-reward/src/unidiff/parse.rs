//! Reading unified diffs, in one pass over the lines (cut at LF only).
//!
//! A text is read as PyPI's `unidiff` reads it, the package that the released reward uses: the same
//! texts fail, and the same lines belong to the same hunks. A file begins with `diff --git`, or with
//! `---` and `+++` where no such line came before. A hunk is read by the two lengths of its
//! header, so a removed line "-- x" is no file header. Any other line ends its file, unless it
//! belongs to the lines below `diff --git`: a hunk behind it needs a new file header.

use std::collections::BTreeMap;

use super::file::{DEV_NULL, File, binary_notice, git_names};
use super::hunk::{header, read_lines};

/// Why a text is no unified diff. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnidiffFailure {
    /// A hunk header without a file header above it, or behind lines that end the file.
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
    /// The text ends before the hunk has the lines that its header says.
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
    /// A `+++` line without its `---` line, or one that names another file than `diff --git` does.
    #[error("line {line}: `+++` without the `---` or `diff --git` line of the same file")]
    TargetWithoutSource {
        /// The line.
        line: usize,
    },
    /// `\ No newline at end of file` where no hunk is above it.
    #[error("line {line}: a no-newline marker outside a hunk")]
    StrayMarker {
        /// The line.
        line: usize,
    },
    /// A file mode or `GIT binary patch` line without its `diff --git` line.
    #[error("line {line}: this line belongs below a `diff --git` line")]
    OutsideFile {
        /// The line.
        line: usize,
    },
}

/// Where the reader is between two hunks.
#[derive(Default)]
struct State<'a> {
    files: Vec<File<'a>>,
    /// Whether the last of `files` is still being read.
    open: bool,
    /// Whether lines now belong to no hunk: those below `diff --git`, or before a file.
    loose: bool,
    /// The name of a `---` line whose `+++` line has not come.
    source: Option<&'a str>,
}

/// The normalised patches of a unified diff by path; binary files and files without change left out.
///
/// # Errors
/// The first thing that makes the text no unified diff. Text without any file is an empty map.
pub fn parse_unidiff(text: &str) -> Result<BTreeMap<String, String>, UnidiffFailure> {
    let mut state = State::default();
    let mut lines = text.split_inclusive('\n').zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some((start, lengths)) = header(line) else {
            state.line(line, number)?;
            continue;
        };
        state.loose = false;
        let file = state.current().ok_or(UnidiffFailure::HunkOutsideFile { line: number })?;
        read_lines(file.begin_hunk(&start), lengths, number, &mut lines)?;
    }
    Ok(state.files.into_iter().filter_map(File::finish).collect())
}

impl<'a> State<'a> {
    fn current(&mut self) -> Option<&mut File<'a>> {
        if self.open { self.files.last_mut() } else { None }
    }

    fn begin(&mut self, source: &'a str, target: &'a str) {
        self.files.push(File::new(source, target));
        self.open = true;
    }

    /// The file whose `diff --git` line is above.
    fn headed(&mut self, line: usize) -> Result<&mut File<'a>, UnidiffFailure> {
        let loose = self.loose;
        self.current().filter(|_| loose).ok_or(UnidiffFailure::OutsideFile { line })
    }

    /// A line outside of hunks that is no hunk header.
    fn line(&mut self, line: &'a str, number: usize) -> Result<(), UnidiffFailure> {
        if let Some((source, target)) = git_names(line) {
            self.begin(source, target);
            self.loose = true;
            self.source = Some(source);
        } else if is_mode(line, "new file mode ") {
            self.headed(number)?.source = DEV_NULL;
        } else if is_mode(line, "deleted file mode ") {
            self.headed(number)?.target = DEV_NULL;
        } else if let Some(name) = line.strip_prefix("--- ") {
            self.source = Some(file_name(name));
            // Below `diff --git` the line names the file that is being read, else it ends one.
            self.open &= self.loose;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let target = file_name(name);
            let failure = UnidiffFailure::TargetWithoutSource { line: number };
            if let Some(file) = self.current() {
                return if file.target == target { Ok(()) } else { Err(failure) };
            }
            let source = self.source.take().ok_or(failure)?;
            self.begin(source, target);
            self.loose = false;
        } else if line.starts_with("\\ No newline at end of file") {
            let failure = UnidiffFailure::StrayMarker { line: number };
            let file = self.current().filter(|file| file.has_hunks()).ok_or(failure)?;
            file.body.push_str("\\ No newline at end of file\n");
        } else if line == "\n" && self.current().is_some_and(|file| file.has_hunks()) {
            self.current().into_iter().for_each(|file| file.body.push('\n'));
        } else {
            self.open &= self.loose;
            self.loose = true;
            let notice = binary_notice(line);
            if notice.is_some() || line == "GIT binary patch\n" {
                match self.current() {
                    Some(file) => file.binary = true,
                    None if notice.is_some() => {}
                    None => return Err(UnidiffFailure::OutsideFile { line: number }),
                }
                self.source = notice.or(self.source);
                (self.open, self.loose) = (false, false);
            }
        }
        Ok(())
    }
}

fn is_mode(line: &str, prefix: &str) -> bool {
    let mode = line.strip_prefix(prefix).map(|mode| mode.strip_suffix('\n').unwrap_or(mode));
    mode.is_some_and(|mode| !mode.is_empty() && mode.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The name of a `---` or `+++` line, without its time stamp.
fn file_name(name: &str) -> &str {
    name.split(['\t', '\n']).next().unwrap_or(name)
}
