//! The stages of a large curation: `swerl curate ingest|aggregate|seeds`, and `all --work`.
//!
//! Each goes on where it was stopped and prints the report of the whole, not of the rest.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
#[cfg(feature = "aggregate")]
use swerl::data::{AggregateOptions, aggregate as aggregate_events};
use swerl::data::{
    CurateOptions, DataCard, IngestOptions, IngestReport, RepositoryFolder, curate_aggregated,
    ingest as ingest_events, read_seeds,
};

use super::{no_seed, options, tell, writable};
#[cfg(feature = "aggregate")]
use crate::cli::{AggregateArgs, AllArgs};
use crate::{
    bar::Bar,
    cli::{IngestArgs, SeedsArgs, SeedsOut},
    interrupt::Interrupt,
    output::say,
};

/// Runs `curate ingest`. Files set aside make it fail after all others are done.
pub(super) fn ingest(args: &IngestArgs, bar: &Bar) -> Result<()> {
    let options = IngestOptions { max_bad_lines: args.max_bad_lines, ..IngestOptions::default() };
    let report = ingest_events(&args.events, &args.out, &options, bar)?;
    tell(&report, args.json)?;
    complain(&report, &args.out)
}

/// One line a bad input; an error where one was set aside.
fn complain(report: &IngestReport, out: &Path) -> Result<()> {
    for line in &report.first_bad_lines {
        say(&format!("warning: {line}"));
    }
    let Some(first) = report.quarantined.first() else { return Ok(()) };
    bail!(
        "{} of {} files were set aside, such as {}: {}; the reasons are in {}, fetch those files again",
        report.quarantined.len(),
        report.files + report.quarantined.len() as u64,
        first.source,
        first.reason,
        out.join("quarantine").display()
    )
}

/// Runs `curate aggregate`.
#[cfg(feature = "aggregate")]
pub(super) fn aggregate(args: &AggregateArgs, bar: &Bar) -> Result<()> {
    let memory_bytes = usize::try_from(u64::from(args.memory) << 20)?;
    let options = AggregateOptions { parts: args.parts, memory_bytes };
    let report = aggregate_events(&args.events, &args.out, &options, bar)?;
    tell(&report, args.json)
}

/// Runs `curate seeds`.
pub(super) fn seeds(args: &SeedsArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    let work = args.work.clone().unwrap_or_else(|| parts_beside(&args.out.out));
    let from = From { pulls: &args.pulls, repos: &args.repos, work: &work };
    make(&from, &args.out, &options(&args.filters)?, bar, interrupt)
}

fn parts_beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".parts");
    out.with_file_name(name)
}

/// Runs all stages. Files set aside are told, and fail the command at its end.
#[cfg(feature = "aggregate")]
pub(super) fn all(args: &AllArgs, work: &Path, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    let options = options(&args.filters)?;
    let (events, pulls, parts) = (work.join("events"), work.join("pulls"), work.join("seeds"));
    let ingested = ingest_events(&args.events, &events, &IngestOptions::default(), bar)?;
    aggregate_events(&events, &pulls, &AggregateOptions::default(), bar)?;
    let from = From { pulls: &pulls, repos: &args.repos, work: &parts };
    make(&from, &args.out, &options, bar, interrupt)?;
    complain(&ingested, &events)
}

struct From<'a> {
    pulls: &'a Path,
    repos: &'a Path,
    work: &'a Path,
}

fn make(
    from: &From<'_>,
    out: &SeedsOut,
    options: &CurateOptions,
    bar: &Bar,
    interrupt: &Interrupt,
) -> Result<()> {
    writable(&out.out)?;
    if !from.repos.is_dir() {
        bail!("{}: no such folder of clones", from.repos.display());
    }
    let clones = RepositoryFolder::new(from.repos);
    let report = curate_aggregated(from.pulls, from.work, &out.out, &clones, options, bar)?;
    tell(&report, out.json)?;
    if report.kept == 0 {
        return Err(no_seed(from.pulls, &out.out));
    }
    if let Some(folder) = &out.card {
        let _guard = interrupt.guard();
        let name = out.out.file_name().unwrap_or(out.out.as_os_str()).to_string_lossy();
        DataCard::new(&name, &read_seeds(&out.out)?, &report).write(folder)?;
    }
    Ok(())
}
