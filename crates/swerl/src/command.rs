//! The commands, one module each.

mod curate;
mod plan;
mod rollouts;
mod score;
#[cfg(feature = "train")]
mod train;
mod view;

use anyhow::Result;

use crate::{
    cli::{Cli, Command},
    interrupt::Interrupt,
};

/// Runs the command asked for.
pub(crate) fn run(cli: Cli, interrupt: &Interrupt) -> Result<()> {
    match cli.command {
        Command::Curate(args) => curate::run(*args, cli.quiet, interrupt),
        Command::Plan(args) => plan::run(&args),
        #[cfg(feature = "train")]
        Command::Train(args) => train::train(&args, cli.quiet, interrupt),
        #[cfg(feature = "train")]
        Command::Sft(args) => train::sft(&args, cli.quiet, interrupt),
        #[cfg(feature = "train")]
        Command::Resume(args) => train::resume(&args, cli.quiet, interrupt),
        Command::Score(args) => score::run(&args, cli.quiet, interrupt),
        Command::View(args) => view::run(&args, cli.quiet, interrupt),
        Command::Rollouts(command) => rollouts::run(&command, interrupt),
    }
}
