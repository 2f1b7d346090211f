//! The command `swerl`: curate pull requests, score patches, look at runs.
//!
//! Results go to standard output or the file asked for, messages and progress to standard error.
//! Exit codes: 0 done, 1 failed (one line names cause and file), 2 wrong command line, 130 interrupted.

mod bar;
mod cli;
mod command;
mod interrupt;
mod output;

use std::{error::Error, process::ExitCode};

use clap::Parser;

use crate::{
    cli::Cli,
    interrupt::Interrupt,
    output::{is_broken_pipe, say},
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => return fail(&error),
    };
    match command::run(cli, &interrupt) {
        // After an interrupt a failure is its consequence: a child process got the signal too.
        _ if interrupt.asked() => ExitCode::from(interrupt::EXIT_CODE),
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough, as `swerl score x.jsonl | head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Prints the error and its causes on one line.
fn fail(error: &anyhow::Error) -> ExitCode {
    let mut line = error.to_string();
    let causes: Vec<&(dyn Error + 'static)> = error.chain().skip(1).collect();
    for cause in causes {
        let cause = cause.to_string();
        // Some libraries repeat their cause in their own message.
        if !line.contains(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    say(&format!("error: {}", line.replace(['\n', '\r'], " ")));
    ExitCode::FAILURE
}
