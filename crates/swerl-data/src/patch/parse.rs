//! Reading patches: git's form with or without its headers.

use super::{FilePatch, LineKind, PatchHunk, PatchProblem};

/// The files of a patch in order. Text between them that belongs to no file is passed over, as
/// `git apply` does with a mail around a patch.
///
/// # Errors
/// If a header or a hunk is cut or malformed.
pub fn parse_patch(text: &str) -> Result<Vec<FilePatch>, PatchProblem> {
    let mut reader = Reader { lines: text.split_inclusive('\n').collect(), at: 0 };
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = reader.peek() {
        let plain = line.trim_end_matches(['\n', '\r']);
        if let Some(names) = plain.strip_prefix("diff --git ") {
            files.push(named(names));
            reader.at += 1;
        } else if let Some(file) = files.last_mut().filter(|file| file.hunks.is_empty())
            && extended_header(plain, file)
        {
            reader.at += 1;
        } else if plain.starts_with("--- ")
            && reader.second().is_some_and(|s| s.starts_with("+++ "))
        {
            reader.file_header(plain, &mut files);
        } else if plain.starts_with("@@ -") && !files.is_empty() {
            let hunk = reader.hunk(plain)?;
            // There is a last file, as it was just asked for.
            if let Some(file) = files.last_mut() {
                file.hunks.push(hunk);
            }
        } else {
            reader.at += 1;
        }
    }
    Ok(files)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn second(&self) -> Option<&'a str> {
        self.lines.get(self.at + 1).copied()
    }

    fn problem(&self, what: &'static str) -> PatchProblem {
        PatchProblem::Syntax { line: self.at + 1, what }
    }

    /// `--- a/x` and `+++ b/x`: of the file opened by `diff --git`, or of a new one.
    fn file_header(&mut self, first: &str, files: &mut Vec<FilePatch>) {
        let old = path_of(&first[4..]);
        let new = path_of(self.second().unwrap_or("+++ ")[4..].trim_end_matches(['\n', '\r']));
        self.at += 2;
        let open = files.last_mut().filter(|file| file.hunks.is_empty() && !file.is_binary);
        match open {
            Some(file) => (file.old_path, file.new_path) = (old, new),
            None => {
                files.push(FilePatch { old_path: old, new_path: new, ..FilePatch::default() });
            }
        }
    }

    /// A hunk: as many lines as its header says.
    fn hunk(&mut self, header: &str) -> Result<PatchHunk, PatchProblem> {
        let ranges = header.strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@"));
        let ranges = ranges.and_then(|(ranges, _)| ranges.split_once(" +"));
        let ranges = ranges.and_then(|(old, new)| Some((range(old)?, range(new)?)));
        let Some(((old_start, mut old), (_, mut new))) = ranges else {
            return Err(self.problem("not a hunk header like @@ -1,2 +1,2 @@"));
        };
        self.at += 1;
        let mut hunk = PatchHunk { old_start, lines: Vec::new() };
        while old > 0 || new > 0 {
            let Some(line) = self.peek() else {
                return Err(self.problem("the hunk ends before its last line"));
            };
            let (kind, rest) = match line.as_bytes().first() {
                Some(b' ') => (LineKind::Kept, &line[1..]),
                Some(b'-') => (LineKind::Removed, &line[1..]),
                Some(b'+') => (LineKind::Added, &line[1..]),
                // Tools that strip trailing blanks leave an empty unchanged line so.
                Some(b'\n' | b'\r') => (LineKind::Kept, line),
                _ => return Err(self.problem("a hunk's line begins with ' ', '-' or '+'")),
            };
            let takes_old = usize::from(kind != LineKind::Added);
            let takes_new = usize::from(kind != LineKind::Removed);
            if takes_old > old || takes_new > new {
                return Err(self.problem("the hunk has more lines than its header says"));
            }
            (old, new) = (old - takes_old, new - takes_new);
            self.at += 1;
            let mut content = rest.to_owned();
            if self.peek().is_some_and(|line| line.starts_with('\\')) {
                self.at += 1;
                content.truncate(content.trim_end_matches('\n').len());
            } else if !content.ends_with('\n') {
                // The patch itself lacks its last line end.
                content.push('\n');
            }
            hunk.lines.push((kind, content));
        }
        Ok(hunk)
    }
}

/// `12` or `12,3` as start and length.
fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, len)) => Some((start.parse().ok()?, len.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// The paths of `a/x b/x`, for patches without `---` lines (pure renames, empty files).
fn named(names: &str) -> FilePatch {
    let half = names.len() / 2;
    let same = names.get(..half).zip(names.get(half + 1..)).and_then(|(a, b)| {
        let (a, b) = (path_of(a)?, path_of(b)?);
        (a == b).then_some(a)
    });
    FilePatch { old_path: same.clone(), new_path: same, ..FilePatch::default() }
}

/// Takes in a header line of git; whether it was one.
fn extended_header(line: &str, file: &mut FilePatch) -> bool {
    if let Some(path) = line.strip_prefix("rename from ").or(line.strip_prefix("copy from ")) {
        file.old_path = unquoted(path);
    } else if let Some(path) = line.strip_prefix("rename to ").or(line.strip_prefix("copy to ")) {
        file.new_path = unquoted(path);
    } else if line.starts_with("new file mode ") {
        file.old_path = None;
    } else if line.starts_with("deleted file mode ") {
        file.new_path = None;
    } else if line == "GIT binary patch" || line.starts_with("Binary files ") {
        file.is_binary = true;
    } else {
        return false;
    }
    true
}

/// The path of a `---` or `+++` line; `None` for `/dev/null`.
fn path_of(text: &str) -> Option<String> {
    // A tab begins a time stamp, or nothing.
    let text = if text.starts_with('"') { text } else { text.split('\t').next().unwrap_or(text) };
    let path = unquoted(text)?;
    if path == "/dev/null" {
        return None;
    }
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    Some(bare.map_or(path.clone(), str::to_owned))
}

/// A name as git quotes it, taken out of its quotes; `None` if that is no UTF-8.
fn unquoted(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.trim_end().strip_suffix('"'))
    else {
        return Some(text.to_owned());
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            first @ b'0'..=b'3' => {
                let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
                let (second, third) = (digit(rest.next()?)?, digit(rest.next()?)?);
                bytes.push((first - b'0') * 64 + second * 8 + third);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::parse_patch;
    use crate::patch::{LineKind, PatchProblem};

    #[test]
    fn files_and_hunks() {
        let text = "From: a mail\n\ndiff --git a/x y.py b/x y.py\nindex 1..2 100644\n--- a/x y.py\t\n+++ b/x y.py\t\n@@ -1,2 +1,2 @@ def f():\n a\n--- b\n+++ c\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\ndiff --git a/o b/p\nrename from o\nrename to p\ndiff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n";
        let files = parse_patch(text).unwrap();
        assert_eq!(files.len(), 4);
        assert_eq!(files[0].old_path.as_deref(), Some("x y.py"));
        let lines: Vec<&str> = files[0].hunks[0].lines.iter().map(|(_, l)| l.as_str()).collect();
        assert_eq!(lines, ["a\n", "-- b\n", "++ c\n"]);
        assert_eq!((files[1].old_path.as_deref(), files[1].new_path.as_deref()), (None, Some("n")));
        assert_eq!(files[1].hunks[0].lines, [(LineKind::Added, "x".to_owned())]);
        assert_eq!(
            (files[2].old_path.as_deref(), files[2].new_path.as_deref()),
            (Some("o"), Some("p"))
        );
        assert!(files[3].is_binary && files[3].new_path.as_deref() == Some("i.png"));
    }

    #[test]
    fn quotes_and_faults() {
        let text = "--- \"a/caf\\303\\251\\\"\"\n+++ \"b/caf\\303\\251\\\"\"\n@@ -1 +1 @@\n-a\n+b";
        let files = parse_patch(text).unwrap();
        assert_eq!(files[0].new_path.as_deref(), Some("caf\u{e9}\""));
        assert_eq!(files[0].hunks[0].lines[1].1, "b\n");
        let head = "--- a/x\n+++ b/x\n";
        for (hunk, line) in
            [("@@ -1,2 +1 @@\n a\n", 5), ("@@ -1 +1 @@\n*a\n", 4), ("@@ -x +1 @@\n", 3)]
        {
            let problem = parse_patch(&format!("{head}{hunk}")).unwrap_err();
            assert!(
                matches!(problem, PatchProblem::Syntax { line: l, .. } if l == line),
                "{problem}"
            );
        }
        assert_eq!(parse_patch("nothing\n").unwrap(), []);
    }
}
