//! The files of one trace, and how a full one becomes a part.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::io;
use crate::error::TraceError;

/// The files of the trace at `path`, the oldest first and `path` itself, where it exists, last.
///
/// # Errors
/// [`TraceError::Io`], when the folder cannot be listed.
pub fn trace_parts(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut files: Vec<PathBuf> = numbered(path)?.into_iter().map(|(_, part)| part).collect();
    if path.exists() {
        files.push(path.to_owned());
    }
    Ok(files)
}

/// The parts with their numbers, by number.
pub(super) fn numbered(path: &Path) -> Result<Vec<(u64, PathBuf)>, TraceError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let listed = std::fs::read_dir(folder).map_err(io("list", folder))?;
    let mut parts = Vec::new();
    for entry in listed {
        let name = entry.map_err(io("list", folder))?.file_name();
        let number = name.to_str().and_then(|name| number(path, name));
        parts.extend(number.map(|number| (number, folder.join(&name))));
    }
    parts.sort_unstable();
    Ok(parts)
}

/// The number in `stem.NNNN.jsonl` or `stem.NNNN.jsonl.gz`.
fn number(path: &Path, name: &str) -> Option<u64> {
    let (stem, end) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    let rest = name.strip_prefix(stem)?.strip_prefix('.')?;
    let rest = rest.strip_suffix(".gz").unwrap_or(rest);
    let digits = rest.strip_suffix(end)?.strip_suffix('.')?;
    let counts = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if counts { digits.parse().ok() } else { None }
}

/// The name of a part.
fn part(path: &Path, number: u64, compress: bool) -> PathBuf {
    let end = path.extension().map(|end| end.to_string_lossy().into_owned()).unwrap_or_default();
    let gz = if compress { ".gz" } else { "" };
    path.with_extension(format!("{number:04}.{end}{gz}"))
}

/// Makes the trace's current file a part, written aside, synced and renamed, and keeps the newest
/// `keep` parts; 0 keeps all.
pub(super) fn rotate(path: &Path, compress: bool, keep: usize) -> Result<(), TraceError> {
    let parts = numbered(path)?;
    let number = parts.last().map_or(1, |(number, _)| number + 1);
    let target = part(path, number, compress);
    let aside = aside(&target);
    let copied = (|| {
        let mut source = File::open(path)?;
        let file = File::create(&aside)?;
        if compress {
            let writer = BufWriter::new(&file);
            let mut encoder = flate2::write::GzEncoder::new(writer, flate2::Compression::default());
            std::io::copy(&mut source, &mut encoder)?;
            encoder.finish()?.flush()?;
        } else {
            std::io::copy(&mut source, &mut &file)?;
        }
        file.sync_all()
    })();
    copied.map_err(io("write", &aside))?;
    std::fs::rename(&aside, &target).map_err(io("write", &target))?;
    // Between these two lines the part's steps stand twice; a writer that resumes sees that.
    std::fs::remove_file(path).map_err(io("replace", path))?;
    if keep > 0 {
        for (_, old) in parts.iter().take((parts.len() + 1).saturating_sub(keep)) {
            std::fs::remove_file(old).map_err(io("delete", old))?;
        }
    }
    Ok(())
}

/// The name under which a file is written before it is renamed.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    PathBuf::from(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_from_other_files() {
        let path = Path::new("run/rollouts.jsonl");
        for (name, expected) in [
            ("rollouts.0001.jsonl", Some(1)),
            ("rollouts.12345.jsonl.gz", Some(12345)),
            ("rollouts.jsonl", None),
            ("rollouts.0001.jsonl.tmp", None),
            ("rollouts.1.jsonl", None),
            ("rollouts.00a1.jsonl", None),
            ("others.0001.jsonl", None),
        ] {
            assert_eq!(number(path, name), expected, "{name}");
        }
        assert_eq!(part(path, 7, true), Path::new("run/rollouts.0007.jsonl.gz"));
        assert_eq!(part(path, 7, false), Path::new("run/rollouts.0007.jsonl"));
    }
}
