//! TensorBoard event files, written by hand: three small messages in a framed file.
//!
//! ```text
//! record  = length: u64 LE, masked crc32c of the length: u32 LE, message, masked crc32c of the message
//! masked  = rotate_right(crc, 15) + 0xa282ead8
//! Event   = 1: wall_time double, 2: step int64, 3: file_version string, 5: summary Summary
//! Summary = 1: value { 1: tag string, 2: simple_value float }
//! ```
//! Source: TensorFlow's `record_writer` and `event.proto`. A run of TensorBoard is a stage of the run
//! (`grpo/`, `sft/`); evaluations stand in `evaluation/`, at the step of their weights. Metrics hold no
//! clock: wall time is the modification time of the metrics file, less the times of the phases that
//! follow.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::UNIX_EPOCH,
};

use super::{error::ReportError, metrics::Stage, run::Run};

/// Name of each event file. TensorBoard takes any that holds `tfevents`; always the same, so that writing
/// again replaces.
const NAME: &str = "events.out.tfevents.0.swerl";

/// Writes the metrics of the run in `folder` as event files below `out`, one folder a stage; files from
/// before are replaced. Returns the number of values written and what was left out.
///
/// # Errors
/// When the folder is no run, a file cannot be read, or one cannot be written.
pub fn write_events(folder: &Path, out: &Path) -> Result<(usize, Vec<String>), ReportError> {
    let run = Run::read(folder)?;
    let mut values = 0;
    for stage in &run.stages {
        let file = if stage.name == "run" {
            "metrics.jsonl".to_owned()
        } else {
            format!("{}-metrics.jsonl", stage.name)
        };
        let ended = modified(&folder.join(file));
        values +=
            write_file(&out.join(&stage.name), ended, |events| stage_events(stage, ended, events))?;
    }
    if !run.evaluations.is_empty() {
        values += write_file(&out.join("evaluation"), 0.0, |events| {
            for e in &run.evaluations {
                let time = modified(&folder.join(format!("evaluation-{}.json", e.name)));
                let tag = |what: &str| format!("held_out/{what}/{}", e.name);
                let mut put = |what: &str, value| {
                    events.push(event(time, e.weights_version, &tag(what), value));
                };
                put("reward", e.reward);
                put("format_valid", e.valid);
                put("exact", e.exact);
                if let Some(similarity) = e.valid_similarity {
                    put("valid_similarity", similarity);
                }
            }
        })?;
    }
    Ok((values, run.notes.lines()))
}

/// One event a value, step by step.
fn stage_events(stage: &Stage, ended: f64, events: &mut Vec<Vec<u8>>) {
    let took = |step: u64| -> f64 {
        let times = stage.columns.iter().filter(|(name, _)| name.starts_with("times."));
        times.filter_map(|(_, column)| column.get(&step)).sum()
    };
    let mut left: f64 = stage.steps.iter().map(|step| took(*step)).sum();
    for &step in &stage.steps {
        left -= took(step);
        for (name, column) in &stage.columns {
            if let Some(value) = column.get(&step) {
                events.push(event(ended - left.max(0.0), step, &tag(name), *value));
            }
        }
    }
}

/// TensorBoard groups tags by what stands before the first slash.
fn tag(column: &str) -> String {
    if column.contains('.') { column.replace('.', "/") } else { format!("train/{column}") }
}

/// Seconds since 1970; 0 where the file system does not say.
fn modified(path: &Path) -> f64 {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |d| d.as_secs_f64())
}

/// Writes one event file aside and renames it.
fn write_file(
    folder: &Path,
    time: f64,
    fill: impl FnOnce(&mut Vec<Vec<u8>>),
) -> Result<usize, ReportError> {
    let path = folder.join(NAME);
    let aside = folder.join(format!("{NAME}.tmp"));
    let failed = |source| ReportError::Write { what: path.display().to_string(), source };
    let mut events = Vec::new();
    fill(&mut events);
    fs::create_dir_all(folder).map_err(failed)?;
    let written = (|| {
        let mut out = BufWriter::new(File::create(&aside)?);
        out.write_all(&record(&version(time)))?;
        for event in &events {
            out.write_all(&record(event))?;
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&aside, &path)
    })();
    if let Err(error) = written {
        let _ = fs::remove_file(&aside); // The first error is the one to report.
        return Err(failed(error));
    }
    Ok(events.len())
}

/// The event that begins a file.
fn version(time: f64) -> Vec<u8> {
    let mut out = vec![0x09];
    out.extend(time.to_le_bytes());
    bytes(&mut out, 0x1a, b"brain.Event:2");
    out
}

/// An event of one scalar. TensorBoard's scalars are 32-bit floats.
fn event(time: f64, step: u64, tag: &str, value: f64) -> Vec<u8> {
    let mut scalar = Vec::new();
    bytes(&mut scalar, 0x0a, tag.as_bytes());
    scalar.push(0x15);
    let least = f64::from(f32::MIN);
    scalar.extend((value.clamp(least, -least) as f32).to_le_bytes());
    let mut summary = Vec::new();
    bytes(&mut summary, 0x0a, &scalar);
    let mut out = vec![0x09];
    out.extend(time.to_le_bytes());
    out.push(0x10);
    varint(&mut out, step);
    bytes(&mut out, 0x2a, &summary);
    out
}

fn bytes(out: &mut Vec<u8>, key: u8, value: &[u8]) {
    out.push(key);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A message in its frame.
fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(message.len() + 16);
    out.extend(length);
    out.extend(masked(&length).to_le_bytes());
    out.extend_from_slice(message);
    out.extend(masked(message).to_le_bytes());
    out
}

fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), reflected polynomial 0x82f63b78.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut crc = at as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
                bit += 1;
            }
            table[at] = crc;
            at += 1;
        }
        table
    };
    !bytes
        .iter()
        .fold(!0, |crc, byte| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_of_rfc_3720() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn varints_of_the_protobuf_guide() {
        for (value, expected) in [(1, &[0x01][..]), (150, &[0x96, 0x01]), (0, &[0x00])] {
            let mut out = Vec::new();
            varint(&mut out, value);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn an_event_to_the_byte() {
        let expected = [
            &[0x09][..],
            &1.5_f64.to_le_bytes(),
            &[0x10, 0x07, 0x2a, 0x0a, 0x0a, 0x08, 0x0a, 0x01, b'a', 0x15],
            &0.5_f32.to_le_bytes(),
        ];
        assert_eq!(event(1.5, 7, "a", 0.5), expected.concat());
        // A value beyond f32 stays finite.
        assert!(event(0.0, 0, "a", 1e300).ends_with(&f32::MAX.to_le_bytes()));
    }
}
