//! `cargo xtask`: the automation of the swerl workspace, one command line.
//!
//! `cargo xtask --help` lists the commands. Exit code 0: all done; 1: a step failed, named on
//! standard error; 2: wrong command line.

use std::process::ExitCode;

use clap::Parser;
use xtask::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
