//! One input to one part.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::rows::{Row, batch, sort};
use super::schema::EVENTS_SCHEMA_VERSION;
use super::table::{TableWriter, read_report};
use super::{IngestCounts, IngestOptions};
use crate::error::DataError;
use crate::event::Event;
use crate::event::lines::Lines;
use crate::stage::{Stage, safe_name};
use crate::time::Timestamp;

/// An input file.
pub(super) struct Source {
    path: PathBuf,
    /// Its path below the folder of events.
    pub(super) name: String,
    /// Its size as stored.
    pub(super) bytes: u64,
}

/// What became of an input.
pub(super) struct Found {
    pub(super) made: Made,
    pub(super) resumed: bool,
    pub(super) counts: IngestCounts,
    pub(super) first_bad_line: Option<String>,
}

/// Whether an input has a part.
pub(super) enum Made {
    /// It has.
    Part,
    /// It has not, for this reason.
    Nothing(String),
}

/// What a part's footer says of its input.
#[derive(Serialize, Deserialize)]
struct Footer {
    version: u32,
    source: String,
    #[serde(flatten)]
    counts: IngestCounts,
    first_bad_line: Option<String>,
}

/// Why an input is set aside, or the run ends.
enum Stop {
    Input(String),
    Output(DataError),
}

impl From<DataError> for Stop {
    fn from(error: DataError) -> Self {
        Self::Output(error)
    }
}

impl Source {
    pub(super) fn new(events: &Path, path: PathBuf) -> Self {
        let name = path.strip_prefix(events).unwrap_or(&path).to_string_lossy().into_owned();
        // A file that cannot be looked at is set aside when it is read.
        let bytes = fs::metadata(&path).map_or(0, |found| found.len());
        Self { path, name, bytes }
    }

    pub(super) fn safe_name(&self) -> String {
        safe_name(Path::new(&self.name))
    }

    pub(super) fn part_name(&self) -> String {
        format!("{}.parquet", self.safe_name())
    }

    /// `2016-05` of `2016-05-04-12.json.gz`.
    fn month(&self) -> Option<&str> {
        let name = self.name.rsplit('/').next()?;
        let month = name.get(..7)?;
        let digits = |from: usize, to: usize| month.as_bytes()[from..to].iter();
        let shape = digits(0, 4).chain(digits(5, 7)).all(u8::is_ascii_digit);
        (shape && month.as_bytes()[4] == b'-' && name.as_bytes().get(7) == Some(&b'-'))
            .then_some(month)
    }
}

/// The part that an earlier run placed; `None`, and the part gone, where the input has another
/// size now or the part another version.
pub(super) fn resume(source: &Source, place: &Path) -> Result<Option<Found>, DataError> {
    let footer = read_report(place)?;
    let footer: Option<Footer> = footer.and_then(|text| serde_json::from_str(&text).ok());
    let current = footer.filter(|footer| {
        footer.version == EVENTS_SCHEMA_VERSION && footer.counts.source_bytes == source.bytes
    });
    let Some(Footer { counts, first_bad_line, .. }) = current else {
        fs::remove_file(place)
            .map_err(|source| DataError::Write { path: place.to_path_buf(), source })?;
        return Ok(None);
    };
    Ok(Some(Found { made: Made::Part, resumed: true, counts, first_bad_line }))
}

/// Reads the input and places its part.
pub(super) fn write(
    source: &Source,
    stage: &Stage,
    options: &IngestOptions,
) -> Result<Found, DataError> {
    let unfinished = stage.partial(&source.part_name());
    let found = |made| Found {
        made,
        resumed: false,
        counts: IngestCounts::default(),
        first_bad_line: None,
    };
    match fill(source, &unfinished, options) {
        Ok((footer, first)) => {
            let seen = first.map(|at| at.to_string());
            let month = source.month().or(seen.as_deref().and_then(|at| at.get(..7)));
            let folder = format!("month={}", month.unwrap_or("none"));
            let place = stage.folder().join(folder).join(source.part_name());
            stage.place(&unfinished, &place)?;
            let Footer { counts, first_bad_line, .. } = footer;
            Ok(Found { counts, first_bad_line, ..found(Made::Part) })
        }
        Err(Stop::Input(reason)) => {
            // The next run clears what cannot be removed now.
            let _ = fs::remove_file(&unfinished);
            Ok(found(Made::Nothing(reason)))
        }
        Err(Stop::Output(error)) => Err(error),
    }
}

/// Writes the part; its footer, and when the first kept event happened.
fn fill(
    source: &Source,
    unfinished: &Path,
    options: &IngestOptions,
) -> Result<(Footer, Option<Timestamp>), Stop> {
    let mut lines = Lines::open(&source.path).map_err(|error| Stop::Input(error.to_string()))?;
    let mut writer = TableWriter::create(unfinished)?;
    let mut counts = IngestCounts { source_bytes: source.bytes, ..IngestCounts::default() };
    let (mut rows, mut size, mut first, mut first_bad_line) = (Vec::new(), 0, None, None);
    loop {
        let read = lines.count;
        let line = match lines.next() {
            Ok(None) => break,
            Ok(Some(line)) => line,
            Err(error) => {
                return Err(Stop::Input(format!(
                    "damaged or truncated after line {read}: {error}"
                )));
            }
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = match Event::from_json(line) {
            Ok(event) => event,
            Err(error) => {
                counts.bad_lines += 1;
                let name = &source.name;
                let told = first_bad_line
                    .get_or_insert_with(|| format!("{name}:{}: not an event: {error}", read + 1));
                if counts.bad_lines > options.max_bad_lines {
                    let most = options.max_bad_lines;
                    return Err(Stop::Input(format!("more than {most} bad lines; {told}")));
                }
                continue;
            }
        };
        count(&event, &mut counts);
        if let Some(row) = Row::new(event, read + 1) {
            first.get_or_insert(row.at());
            size += row.size();
            rows.push(row);
            if size >= options.row_bytes {
                write_group(&mut rows, &source.name, &mut writer)?;
                size = 0;
            }
        }
    }
    write_group(&mut rows, &source.name, &mut writer)?;
    (counts.lines, counts.bytes) = (lines.count, lines.bytes);
    let version = EVENTS_SCHEMA_VERSION;
    let footer = Footer { version, source: source.name.clone(), counts, first_bad_line };
    // Strings and integers always become JSON.
    writer.finish(serde_json::to_string(&footer).unwrap_or_default())?;
    Ok((footer, first))
}

fn count(event: &Event, counts: &mut IngestCounts) {
    match event {
        Event::PullRequest(event) => {
            counts.pull_requests += 1;
            counts.slim += u64::from(event.pull_request.title.is_none());
        }
        Event::Issue(event) if event.comment.is_some() => counts.comments += 1,
        Event::Issue(_) => counts.issues += 1,
        Event::Other => {}
    }
}

/// Writes the rows as one sorted row group, and forgets them.
fn write_group(
    rows: &mut Vec<Row>,
    source: &str,
    writer: &mut TableWriter<'_>,
) -> Result<(), Stop> {
    if rows.is_empty() {
        return Ok(());
    }
    sort(rows);
    let columns = batch(rows, source).map_err(|error| Stop::Input(error.to_string()))?;
    rows.clear();
    writer.write(&columns)?;
    writer.flush()?;
    Ok(())
}
