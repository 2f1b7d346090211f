//! From events and clones, or from a clone alone, to seeds.

use crate::context::ContextOptions;
use crate::filter::duplicate::{Signature, duplicates};
use crate::filter::hunk::ChangedFile;
use crate::filter::{DropReason, FilterOptions};
use crate::report::CurateReport;
use crate::seed::SeedExample;

pub(crate) mod change;
mod check;
pub mod comments;
pub mod events;
mod group;
pub mod judges;
mod licences;
#[cfg(feature = "ingest")]
mod merge;
#[cfg(feature = "ingest")]
pub mod parts;
pub mod repository;
mod texts;

/// Version of the rules that seeds are made by, for the names of caches: the same repository may
/// give other seeds under another one.
pub const CURATION_VERSION: u32 = 2;

/// What a curation compares with and adds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurateOptions {
    /// Which pull requests are dropped.
    pub filters: FilterOptions,
    /// How many unmodified files are added.
    pub context: ContextOptions,
    /// How much of an issue's comments is added to its text.
    pub comments: comments::CommentOptions,
}

/// Sorts seeds by merge time, then repository, then number, drops repetitions, and closes the
/// report.
pub(crate) fn finish(
    mut kept: Vec<change::Kept>,
    mut report: CurateReport,
    options: &CurateOptions,
) -> (Vec<SeedExample>, CurateReport) {
    kept.sort_by(|a, b| a.seed.sort_key().cmp(&b.seed.sort_key()));
    let signatures: Vec<Signature> = kept.iter().map(|kept| signature(&kept.seed)).collect();
    let repeats = duplicates(&signatures, options.filters.near_duplicates);
    let mut seeds = Vec::with_capacity(kept.len());
    for (kept, repeat) in kept.into_iter().zip(repeats) {
        match repeat {
            Some(repeat) if repeat.is_exact => report.drop_one(DropReason::ExactDuplicate),
            Some(_) => report.drop_one(DropReason::NearDuplicate),
            None => {
                for licence in kept.licences {
                    *report.licences.entry(licence).or_default() += 1;
                }
                seeds.push(kept.seed);
            }
        }
    }
    report.kept = seeds.len() as u64;
    report.assert_adds_up();
    (seeds, report)
}

/// The signature of a seed's change.
pub(crate) fn signature(seed: &SeedExample) -> Signature {
    let old = |path: &str| {
        seed.files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str())
    };
    let files = seed.oracle.iter();
    let files = files.map(|(path, new)| ChangedFile { path, old: old(path), new });
    Signature::of(&files.collect::<Vec<_>>())
}
