//! The seeds of the groups that are shown, read from a seeds file line by line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
};

use serde::Deserialize;
use swerl_data::SeedExample;

use super::{
    error::ReportError,
    lines::{Content, Lines},
};

/// Seeds by id.
pub(super) type Seeds = BTreeMap<String, SeedExample>;

/// Reads the seeds called `wanted`; the others are passed over.
pub(super) fn read(path: &Path, wanted: &BTreeSet<&str>) -> Result<Seeds, ReportError> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let mut seeds = Seeds::new();
    let mut lines = Lines::new(File::open(path).map_err(ReportError::read(path))?);
    while let Some(line) = lines.next().map_err(ReportError::read(path))? {
        let wrong = |reason: String| ReportError::Seed {
            path: path.to_path_buf(),
            line: line.number,
            reason,
        };
        let Content::Whole(bytes) = line.content else {
            return Err(wrong("the line has no end, or is too long".into()));
        };
        let Named { id } =
            serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if wanted.contains(&*id) {
            let seed: SeedExample =
                serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
            seed.validate().map_err(|error| wrong(error.to_string()))?;
            seeds.insert(id, seed);
        }
    }
    Ok(seeds)
}
