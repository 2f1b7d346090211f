//! The SWE-RL recipe, composed of the swerl crates: curate pull requests, warm-start a policy by
//! supervised fine-tuning, improve it by GRPO on the similarity of its patches, measure on
//! repositories it never saw.
//!
//! ```text
//! cargo run --release --example llama70b                  # scaled to this machine, minutes
//! cargo run --release --example llama70b -- --preset 70b  # the paper's configuration and its memory
//! ```
//!
//! Without arguments it makes its own corpus of real git repositories and starts from the small
//! base model in `examples/base-model`. `--model` and `--seeds` put yours in their place.

mod arguments;
mod corpus;
mod paper;
mod recipe;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;

use arguments::{Arguments, Preset};

/// Exit code for a run that cannot start or failed.
const FAILED: u8 = 1;
/// Exit code for a configuration that this machine cannot hold.
const DOES_NOT_FIT: u8 = 3;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.preset == Preset::Llama70b {
        return match paper::describe() {
            paper::Fit::Fits => ExitCode::SUCCESS,
            paper::Fit::Refused(reason) => {
                eprintln!("error: {reason}");
                ExitCode::from(DOES_NOT_FIT)
            }
        };
    }
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after this step and saving; press Ctrl-C again to give up at once");
    });
    if let Err(error) = handler {
        eprintln!("error: cannot listen for Ctrl-C: {error}");
        return ExitCode::from(FAILED);
    }
    match recipe::run(&arguments, &stop) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("stopped; go on with the same command and --resume");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}
