//! `swerl curate`: merged pull requests to seeds, with a report that adds up.
//!
//! Seeds are written when all are made, in one go; the report goes to standard output. No
//! seed at all is a failure: the file would be refused by whoever reads it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use swerl::data::{
    CurateOptions, CurateReport, RepositoryFolder, RepositoryOptions, SeedExample, curate_events,
    curate_repository, write_seeds,
};

use crate::{
    bar::Bar,
    cli::{AllArgs, Curate, FilterArgs, RepoArgs, SeedsOut},
    interrupt::Interrupt,
    output::print_line,
};

/// Runs the command.
pub(crate) fn run(args: Curate, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    let bar = Bar::counting(quiet);
    match args {
        Curate::Repo(args) => repo(args, &bar, interrupt),
        Curate::All(args) => all(&args, &bar, interrupt),
    }
}

fn repo(args: RepoArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    writable(&args.out.out)?;
    let from = RepositoryOptions {
        revision: args.revision,
        name: args.name,
        direct_commits: args.direct_commits,
    };
    let made = curate_repository(&args.path, &from, &options(&args.filters), bar)?;
    finish(made, &args.out, &args.path, interrupt)
}

fn all(args: &AllArgs, bar: &Bar, interrupt: &Interrupt) -> Result<()> {
    writable(&args.out.out)?;
    if !args.repos.is_dir() {
        bail!("{}: no such folder of clones", args.repos.display());
    }
    let clones = RepositoryFolder::new(&args.repos);
    let made = curate_events(&args.events, &clones, &options(&args.filters), bar)?;
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

fn options(args: &FilterArgs) -> CurateOptions {
    let mut options = CurateOptions::default();
    let filters = &mut options.filters;
    filters.require_bug = !args.any_issue;
    filters.excluded_repositories.extend(args.exclude.iter().cloned());
    set(&mut filters.max_files, args.max_files);
    set(&mut filters.max_bytes, args.max_bytes);
    set(&mut filters.max_changed_lines, args.max_changed_lines);
    set(&mut options.context.max_files, args.related);
    options
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
    if out.json {
        print_line(&serde_json::to_string(&report).context("writing the report")?)?;
    } else {
        print_line(&report.to_string())?;
    }
    if seeds.is_empty() {
        bail!(
            "{}: no pull request gave a seed, so {} is not written",
            from.display(),
            out.out.display()
        );
    }
    let _guard = interrupt.guard();
    write_seeds(&out.out, &seeds)?;
    Ok(())
}
