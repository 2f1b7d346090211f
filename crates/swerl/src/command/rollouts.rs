//! `swerl rollouts`: what a policy wrote, and what it earned, from the trace of a run.

mod diff;
mod show;
mod stats;
mod trace;

use anyhow::Result;

use crate::{cli::Rollouts, interrupt::Interrupt, output::Output};

/// Runs the command.
pub(crate) fn run(command: &Rollouts, interrupt: &Interrupt) -> Result<()> {
    let mut out = Output::open(None, interrupt)?;
    match command {
        Rollouts::Stats(args) => stats::run(args, &mut out)?,
        Rollouts::Show(args) => show::run(args, &mut out)?,
        Rollouts::Diff(args) => diff::run(args, &mut out)?,
    }
    out.finish()
}

/// Text of a model for a terminal: its control characters are spelled out, so that none of them does
/// anything.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' || !c.is_control() {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    out
}

/// `a`, or a dash for what does not exist.
fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.4}"))
}
