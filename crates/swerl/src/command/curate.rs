//! `swerl curate`: merged pull requests to seeds, with a report that adds up.
//!
//! Seeds are written when all are made, in one go; the report goes to standard output. No
//! seed at all is a failure: the file would be refused by whoever reads it.

use std::{collections::BTreeSet, fmt::Display, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use swerl::data::{
    CurateOptions, CurateReport, DataCard, RepositoryFolder, RepositoryOptions, SeedExample,
    curate_events, curate_repository, filter::licence::PERMISSIVE, import_instances,
    time::Timestamp, write_seeds,
};

use crate::{
    bar::Bar,
    cli::{AllArgs, Curate, FilterArgs, ImportArgs, RepoArgs, SeedsOut},
    interrupt::Interrupt,
    output::print_line,
};

mod export;
mod inspect;
mod prompt;
#[cfg(feature = "ingest")]
mod stages;

/// Runs the command.
pub(crate) fn run(args: Curate, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    let bar = Bar::counting(quiet);
    match args {
        Curate::Repo(args) => repo(args, &bar, interrupt),
        Curate::All(args) => all(&args, &bar, interrupt),
        #[cfg(feature = "ingest")]
        Curate::Ingest(args) => stages::ingest(&args, &Bar::bytes(quiet)),
        #[cfg(feature = "aggregate")]
        Curate::Aggregate(args) => stages::aggregate(&args, &bar),
        #[cfg(feature = "ingest")]
        Curate::Seeds(args) => stages::seeds(&args, &bar, interrupt),
        Curate::Inspect(args) => inspect::run(&args),
        Curate::Export(args) => export::run(&args, interrupt),
        Curate::Import(args) => import(&args, &bar, interrupt),
    }
}

fn repo(args: RepoArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    writable(&args.out.out)?;
    let from = RepositoryOptions {
        revision: args.revision,
        name: args.name,
        direct_commits: args.direct_commits,
    };
    let made = curate_repository(&args.path, &from, &options(&args.filters)?, bar)?;
    finish(made, &args.out, &args.path, interrupt)
}

fn all(args: &AllArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    writable(&args.out.out)?;
    if !args.repos.is_dir() {
        bail!("{}: no such folder of clones", args.repos.display());
    }
    #[cfg(feature = "aggregate")]
    if let Some(work) = &args.work {
        return stages::all(args, work, bar, interrupt);
    }
    let clones = RepositoryFolder::new(&args.repos);
    let made = curate_events(&args.events, &clones, &options(&args.filters)?, bar)?;
    finish(made, &args.out, &args.events, interrupt)
}

/// Fails early where hours of work could not be written down.
fn writable(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.is_dir() || !folder.is_dir() {
        let what = if path.is_dir() { "it is a folder" } else { "its folder does not exist" };
        bail!("cannot write {}: {what}", path.display());
    }
    Ok(())
}

fn import(args: &ImportArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    writable(&args.out.out)?;
    if !args.repos.is_dir() {
        bail!("{}: no such folder of clones", args.repos.display());
    }
    let clones = RepositoryFolder::new(&args.repos);
    let mut options = CurateOptions::default();
    set(&mut options.context.max_files, args.related);
    let made = import_instances(&args.instances, args.format, &clones, &options, bar)?;
    finish(made, &args.out, &args.instances, interrupt)
}

fn options(args: &FilterArgs) -> Result<CurateOptions> {
    let mut options = CurateOptions::default();
    let filters = &mut options.filters;
    filters.require_bug = !args.any_issue;
    filters.excluded_repositories.extend(args.exclude.iter().cloned());
    filters.excluded_roots.extend(args.exclude_root.iter().map(|root| root.to_lowercase()));
    if let Some(path) = &args.exclude_instances {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let ids = text.lines().map(str::trim).filter(|line| !line.is_empty());
        filters.excluded_instances = ids.map(str::to_owned).collect();
    }
    filters.merged_before = args.merged_before.as_deref().map(moment).transpose()?;
    if !args.licences.is_empty() {
        let mut allowed: BTreeSet<String> = args.licences.iter().cloned().collect();
        if allowed.remove("permissive") {
            allowed.extend(PERMISSIVE.map(str::to_owned));
        }
        filters.licences = Some(allowed);
    }
    if let Some(near) = args.near_duplicates {
        if near.is_nan() || near < 0.0 {
            bail!("--near-duplicates {near}: a similarity is not below 0");
        }
        filters.near_duplicates = (near <= 1.0).then_some(near);
    }
    set(&mut filters.max_files, args.max_files);
    set(&mut filters.max_bytes, args.max_bytes);
    set(&mut filters.max_changed_lines, args.max_changed_lines);
    set(&mut options.context.max_files, args.related);
    set(&mut options.context.max_tokens, args.related_tokens);
    set(&mut options.comments.max_bytes, args.comments);
    Ok(options)
}

/// A day stands for its first second.
fn moment(text: &str) -> Result<Timestamp> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().with_context(|| format!("--merged-before {text}"))
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn finish(
    (seeds, report): (Vec<SeedExample>, CurateReport),
    out: &SeedsOut,
    from: &Path,
    interrupt: &Interrupt,
) -> Result<()> {
    tell(&report, out.json)?;
    if seeds.is_empty() {
        return Err(no_seed(from, &out.out));
    }
    let _guard = interrupt.guard();
    write_seeds(&out.out, &seeds)?;
    if let Some(folder) = &out.card {
        let name = out.out.file_name().unwrap_or(out.out.as_os_str()).to_string_lossy();
        DataCard::new(&name, &seeds, &report).write(folder)?;
    }
    Ok(())
}

/// The report on standard output.
fn tell<R: Serialize + Display>(report: &R, json: bool) -> Result<()> {
    if json {
        print_line(&serde_json::to_string(report).context("writing the report")?)
    } else {
        print_line(&report.to_string())
    }
}

fn no_seed(from: &Path, out: &Path) -> anyhow::Error {
    anyhow!("{}: no pull request gave a seed, so {} is not written", from.display(), out.display())
}
