//! Lines of a stream in chunks, each with a limit on its length.

use std::io::{self, BufRead, BufReader, Read};

/// Longest line taken, in bytes. A longer one is skipped and reported.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const CHUNK_LINES: usize = 512;
const CHUNK_BYTES: usize = 8 << 20;

/// One line.
#[derive(Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Without its end and without a byte order mark; `None` when it is longer than [`MAX_LINE`].
    pub(crate) bytes: Option<Vec<u8>>,
    /// Bytes read, the end included.
    size: u64,
}

impl Line {
    /// Bytes read, the end included.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// Reads chunks of lines.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    eager: bool,
    number: u64,
    /// A failure behind lines that were given first.
    failure: Option<io::Error>,
}

impl<R: Read> Lines<R> {
    /// Starts at line 1. With `eager` a chunk ends where reading on might block: whoever writes
    /// a line into a pipe gets its answer.
    pub(crate) fn new(reader: R, eager: bool) -> Self {
        Self { reader: BufReader::with_capacity(1 << 20, reader), eager, number: 0, failure: None }
    }

    /// The next lines; empty at the end of the stream. A failure comes after the lines before it.
    pub(crate) fn chunk(&mut self) -> io::Result<Vec<Line>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut chunk = Vec::new();
        let mut held = 0;
        while chunk.len() < CHUNK_LINES && held < CHUNK_BYTES {
            let line = match self.line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(failure) if chunk.is_empty() => return Err(failure),
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            };
            held += line.bytes.as_ref().map_or(0, Vec::len);
            chunk.push(line);
            if self.eager && self.reader.buffer().is_empty() {
                break;
            }
        }
        Ok(chunk)
    }

    fn line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        let mut size = (&mut self.reader).take(limit).read_until(b'\n', &mut bytes)? as u64;
        if size == 0 {
            return Ok(None);
        }
        self.number += 1;
        let whole = bytes.last() == Some(&b'\n');
        if whole {
            bytes.pop();
        }
        // Some editors and tools begin a text with a byte order mark.
        if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let too_long = bytes.len() > MAX_LINE;
        if too_long {
            bytes = Vec::new();
            size += self.reader.skip_until(b'\n')? as u64;
        }
        Ok(Some(Line { number: self.number, bytes: (!too_long).then_some(bytes), size }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: &[(u64, Option<usize>)]) {
        let mut lines = Lines::new(text, false);
        let mut found = Vec::new();
        let mut read = 0;
        loop {
            let chunk = lines.chunk().unwrap();
            if chunk.is_empty() {
                break;
            }
            read += chunk.iter().map(Line::size).sum::<u64>();
            found.extend(chunk.iter().map(|line| (line.number, line.bytes.as_ref().map(Vec::len))));
        }
        assert_eq!(found, expected);
        assert_eq!(read, text.len() as u64);
    }

    #[test]
    fn lines_and_limits() {
        check(b"", &[]);
        check(b"a\n\nbc", &[(1, Some(1)), (2, Some(0)), (3, Some(2))]);
        check(b"\xef\xbb\xbfab\n\xef\xbb\xbfab\n", &[(1, Some(2)), (2, Some(5))]);
        let long = |len: usize| [vec![b'x'; len], b"\nend\n".to_vec()].concat();
        check(&long(MAX_LINE), &[(1, Some(MAX_LINE)), (2, Some(3))]);
        check(&long(MAX_LINE + 1), &[(1, None), (2, Some(3))]);
        check(&long(MAX_LINE + 7), &[(1, None), (2, Some(3))]);
    }

    #[test]
    fn a_failure_comes_after_the_lines_before_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut lines = Lines::new(b"a\nb\nhalf".chain(Broken), false);
        assert_eq!(lines.chunk().unwrap().len(), 2);
        assert_eq!(lines.chunk().unwrap_err().to_string(), "broken");
    }

    #[test]
    fn chunks_are_bounded() {
        let text = "x\n".repeat(1_000);
        let mut lines = Lines::new(text.as_bytes(), false);
        assert_eq!(lines.chunk().unwrap().len(), CHUNK_LINES);
        assert_eq!(lines.chunk().unwrap().len(), 1_000 - CHUNK_LINES);
    }
}
