//! Parts to one seeds file: sorted, without repetitions. Memory holds each seed's signature, not its texts.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::change::Kept;
use super::{CurateOptions, signature};
use crate::error::DataError;
use crate::filter::DropReason;
use crate::filter::duplicate::{Signature, duplicates};
use crate::jsonl::SeedWriter;
use crate::report::CurateReport;

/// Where a seed stands, and what decides its place in the output.
struct Entry {
    key: (String, String, u64, String),
    licences: BTreeSet<String>,
    part: usize,
    at: u64,
    length: usize,
}

fn read_error(path: &Path) -> impl Fn(io::Error) -> DataError {
    move |source| DataError::Read { path: path.to_path_buf(), source }
}

fn line_error(path: &Path, line: u64) -> impl Fn(serde_json::Error) -> DataError {
    move |source| DataError::SeedLine { path: path.to_path_buf(), line, source }
}

/// The report of a part.
pub(super) fn read_header(part: &Path) -> Result<CurateReport, DataError> {
    let mut line = Vec::new();
    let file = File::open(part).map_err(read_error(part))?;
    BufReader::new(file).read_until(b'\n', &mut line).map_err(read_error(part))?;
    serde_json::from_slice(&line).map_err(line_error(part, 1))
}

/// Writes the seeds of all parts and closes the report, which holds the sums of theirs.
pub(super) fn merge_parts(
    parts: &[PathBuf],
    out: &Path,
    mut report: CurateReport,
    options: &CurateOptions,
) -> Result<CurateReport, DataError> {
    let mut entries = Vec::new();
    for (part, path) in parts.iter().enumerate() {
        read_entries(part, path, &mut entries)?;
    }
    entries.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    let (entries, signatures): (Vec<Entry>, Vec<Signature>) = entries.into_iter().unzip();
    let repeats = duplicates(&signatures, options.filters.near_duplicates);
    drop(signatures);
    let mut chosen = Vec::with_capacity(entries.len());
    for (entry, repeat) in entries.into_iter().zip(repeats) {
        match repeat {
            Some(repeat) if repeat.is_exact => report.drop_one(DropReason::ExactDuplicate),
            Some(_) => report.drop_one(DropReason::NearDuplicate),
            None => {
                for licence in &entry.licences {
                    *report.licences.entry(licence.clone()).or_default() += 1;
                }
                chosen.push(entry);
            }
        }
    }
    report.kept = chosen.len() as u64;
    report.assert_adds_up();
    if chosen.is_empty() {
        return Ok(report);
    }
    let files: Result<Vec<File>, DataError> =
        parts.iter().map(|path| File::open(path).map_err(read_error(path))).collect();
    let mut files = files?;
    let mut writer = SeedWriter::create(out)?;
    let mut line = Vec::new();
    for entry in chosen {
        let path = &parts[entry.part];
        line.resize(entry.length, 0);
        let file = &mut files[entry.part];
        file.seek(SeekFrom::Start(entry.at)).map_err(read_error(path))?;
        file.read_exact(&mut line).map_err(read_error(path))?;
        let kept: Kept = serde_json::from_slice(&line).map_err(line_error(path, 0))?;
        writer.write(&kept.seed)?;
    }
    writer.finish()?;
    Ok(report)
}

fn read_entries(
    part: usize,
    path: &Path,
    entries: &mut Vec<(Entry, Signature)>,
) -> Result<(), DataError> {
    let mut reader = BufReader::new(File::open(path).map_err(read_error(path))?);
    let mut line = Vec::new();
    let (mut at, mut number) = (0, 0);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(read_error(path))?;
        if length == 0 {
            return Ok(());
        }
        number += 1;
        // The first line is the report.
        if number > 1 {
            let kept: Kept = serde_json::from_slice(&line).map_err(line_error(path, number))?;
            let (merged_at, repo, pull, id) = kept.seed.sort_key();
            let key = (merged_at.to_owned(), repo.to_owned(), pull, id.to_owned());
            let signature = signature(&kept.seed);
            entries.push((Entry { key, licences: kept.licences, part, at, length }, signature));
        }
        at += length as u64;
    }
}
