//! Hourly files `YYYY-MM-DD-H.json.gz`, named and laid out as GH Archive does.
//!
//! One file an hour from the first event to the last, the hour without a leading zero; an hour in
//! which nothing happened has an empty file. The gzip header has no time and no name, so that
//! equal events give equal bytes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::{Compression, GzBuilder};

use crate::error::CorpusError;
use crate::events::{Event, civil};
use crate::parallel;

/// The number of the first event.
const FIRST_ID: u64 = 36_000_000_000;

/// Writes the events, sorted by time here; returns how many hours and events there are.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(folder: &Path, mut events: Vec<Event>) -> Result<(usize, usize), CorpusError> {
    events.sort_by_key(|event| event.time);
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok((0, 0)) };
    let hours: Vec<i64> = (first.time.div_euclid(3600)..=last.time.div_euclid(3600)).collect();
    let end = |hour: i64| events.partition_point(|event| event.time.div_euclid(3600) <= hour);
    let written = parallel::run(
        hours.len(),
        |index| {
            let hour = hours[index];
            let (start, end) = (end(hour - 1), end(hour));
            let (year, month, day) = civil(hour.div_euclid(24));
            let name = format!("{year:04}-{month:02}-{day:02}-{}.json.gz", hour.rem_euclid(24));
            let path = folder.join(name);
            write_hour(&path, &events[start..end], FIRST_ID + start as u64)
                .map_err(|source| CorpusError::Io { action: "write", path, source })
        },
        |_| {},
    );
    written.into_iter().collect::<Result<(), CorpusError>>()?;
    Ok((hours.len(), events.len()))
}

fn write_hour(path: &Path, events: &[Event], first_id: u64) -> io::Result<()> {
    let mut zip = GzBuilder::new().mtime(0).write(File::create(path)?, Compression::new(3));
    for (event, id) in events.iter().zip(first_id..) {
        zip.write_all(event.line(id).as_bytes())?;
    }
    zip.finish()?.flush()
}
