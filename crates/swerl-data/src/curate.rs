//! From events and clones, or from a clone alone, to seeds.

use crate::context::ContextOptions;
use crate::filter::FilterOptions;
use crate::report::CurateReport;
use crate::seed::SeedExample;

mod change;
pub mod events;
pub mod repository;

/// What a curation compares with and adds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurateOptions {
    /// Which pull requests are dropped.
    pub filters: FilterOptions,
    /// How many unmodified files are added.
    pub context: ContextOptions,
}

/// Sorts seeds by merge time, then repository, then number, and closes the report.
fn finish(
    mut seeds: Vec<SeedExample>,
    mut report: CurateReport,
) -> (Vec<SeedExample>, CurateReport) {
    seeds.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    report.kept = seeds.len() as u64;
    report.assert_adds_up();
    (seeds, report)
}
