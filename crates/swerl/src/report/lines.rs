//! Lines of a JSONL file with their places, one in memory at a time.
//!
//! A line without LF at the end of the file is torn: its writer crashed, or is still at it. A line
//! longer than [`MAX_LINE`] is passed over. Both are told apart from whole lines, never hidden.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

/// Longest line taken, in bytes.
pub(super) const MAX_LINE: usize = 64 << 20;

/// Reads a file line by line.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
}

/// What stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// The line without its LF. Blank lines are passed over.
    Whole(&'a [u8]),
    /// The last line, without LF.
    Torn,
    /// More than [`MAX_LINE`] bytes.
    TooLong,
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: u64,
    /// Where it begins, in bytes.
    pub(super) offset: u64,
    /// What stands in it.
    pub(super) content: Content<'a>,
}

impl Lines {
    pub(super) fn new(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 18, file),
            buffer: Vec::new(),
            number: 0,
            offset: 0,
        }
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            let offset = self.offset;
            let (read, ended) = self.fill()?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.offset += read;
            let number = self.number;
            if read > MAX_LINE as u64 {
                return Ok(Some(Line { number, offset, content: Content::TooLong }));
            }
            if !ended {
                return Ok(Some(Line { number, offset, content: Content::Torn }));
            }
            if !self.buffer.trim_ascii().is_empty() {
                let content = Content::Whole(&self.buffer);
                return Ok(Some(Line { number, offset, content }));
            }
        }
    }

    /// Reads up to and with the next LF, keeping at most [`MAX_LINE`] bytes: bytes read, and whether
    /// there was an LF.
    fn fill(&mut self) -> io::Result<(u64, bool)> {
        let mut read = 0;
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok((read, false));
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            let text = &bytes[..end.unwrap_or(bytes.len())];
            if self.buffer.len() + text.len() <= MAX_LINE {
                self.buffer.extend_from_slice(text);
            }
            self.reader.consume(taken);
            read += taken as u64;
            if end.is_some() {
                return Ok((read, true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u64, u64, Option<&str>)]) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut lines = Lines::new(file);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let text = match line.content {
                Content::Whole(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
                Content::Torn | Content::TooLong => None,
            };
            found.push((line.number, line.offset, text));
        }
        let expected: Vec<_> =
            expected.iter().map(|(n, o, text)| (*n, *o, text.map(str::to_owned))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_carry_their_number_and_offset() {
        check("", &[]);
        check("a\nbc\n", &[(1, 0, Some("a")), (2, 2, Some("bc"))]);
        check("\n \nbc\n", &[(3, 3, Some("bc"))]);
    }

    #[test]
    fn a_last_line_without_its_end_is_torn() {
        check("a\n{\"b\":", &[(1, 0, Some("a")), (2, 2, None)]);
        check("a", &[(1, 0, None)]);
    }
}
