//! `swerl view`: a run folder as one HTML page, written or served, or as TensorBoard event files.

mod serve;

use std::path::Path;

use anyhow::{Context, Result};
use swerl::report::{ReportError, ReportOptions, ReportSummary, write_events, write_report};

use crate::{cli::ViewArgs, interrupt::Interrupt, output::Output};

/// Runs the command.
pub(crate) fn run(args: &ViewArgs, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    if !args.run.is_dir() {
        return Err(ReportError::NoFolder { path: args.run.clone() }.into());
    }
    if let Some(folder) = &args.tensorboard {
        let (values, notes) = write_events(&args.run, folder)?;
        say(&notes, quiet);
        println!("{}: {values} values; tensorboard --logdir shows them", folder.display());
        return Ok(());
    }
    let options = ReportOptions {
        limit_rollouts: args.limit_rollouts,
        step: args.step,
        seeds: args.seeds.clone(),
        tokenizer: args.tokenizer.clone(),
    };
    if let Some(address) = args.serve {
        return serve::run(address, &args.run, &options, quiet);
    }
    let path = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    let summary = write(&path, args, &options, interrupt)?;
    say(&summary.notes, quiet);
    println!("{}: {} of {} rollouts", path.display(), summary.shown, summary.rollouts);
    Ok(())
}

fn write(
    path: &Path,
    args: &ViewArgs,
    options: &ReportOptions,
    interrupt: &Interrupt,
) -> Result<ReportSummary> {
    let mut output = Output::open(Some(path), interrupt)
        .with_context(|| "the report needs a place: give --out FILE")?;
    let summary = write_report(&args.run, options, &mut output.writer())?;
    output.finish()?;
    Ok(summary)
}

fn say(notes: &[String], quiet: bool) {
    if !quiet {
        for note in notes {
            eprintln!("note: {note}");
        }
    }
}
