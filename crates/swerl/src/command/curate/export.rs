//! `swerl curate export`: seeds as rows of other tools.

use anyhow::Result;
use swerl::data::{
    interop::{swe_bench_row, trl_row, verl_row},
    read_seeds,
};

use super::prompt::messages;
use crate::{
    cli::{ExportArgs, ExportFormat},
    interrupt::Interrupt,
    output::Output,
};

/// Runs the command.
pub(super) fn run(args: &ExportArgs, interrupt: &Interrupt) -> Result<()> {
    let seeds = read_seeds(&args.seeds)?;
    let mut out = Output::open(args.out.as_deref(), interrupt)?;
    for (seed, index) in seeds.iter().zip(0..) {
        let row = match args.format {
            ExportFormat::Trl => trl_row(seed, &messages(seed)),
            ExportFormat::Verl => verl_row(seed, &messages(seed), &args.split, index),
            ExportFormat::SweBench => swe_bench_row(seed),
        };
        out.line(&row.to_string())?;
    }
    out.finish()
}
