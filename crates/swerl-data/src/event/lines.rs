//! The lines of a `*.json.gz` file, one at a time and of bounded length.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// The longest line that is read, in bytes; GitHub's own payloads end at 25 MB.
pub(crate) const LONGEST_LINE: usize = 64 << 20;

type Decoder = MultiGzDecoder<BufReader<File>>;

/// Reads line by line; the file may be several gzip members in a row.
pub(crate) struct Lines {
    reader: BufReader<Decoder>,
    line: Vec<u8>,
    /// Lines read so far.
    pub(crate) count: u64,
    /// Bytes of them, uncompressed.
    pub(crate) bytes: u64,
}

impl Lines {
    /// # Errors
    /// If the file cannot be opened.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let decoder = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, File::open(path)?));
        let reader = BufReader::with_capacity(1 << 17, decoder);
        Ok(Self { reader, line: Vec::new(), count: 0, bytes: 0 })
    }

    /// The next line with its line feed, unless it is the last; `None` at the end.
    ///
    /// # Errors
    /// If the gzip stream is truncated or damaged, or the line is longer than [`LONGEST_LINE`].
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut bounded = (&mut self.reader).take(LONGEST_LINE as u64);
        let read = bounded.read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if read == LONGEST_LINE && self.line.last() != Some(&b'\n') {
            let message = format!("a line is longer than {LONGEST_LINE} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.count += 1;
        self.bytes += read as u64;
        Ok(Some(&self.line))
    }
}
