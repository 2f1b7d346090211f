//! Automation for the swerl workspace, as a library so that its checks also run as tests.
//!
//! - [`cli`]: the command line, one variant a command.
//! - [`check`]: everything a change must pass, cheapest first.
//! - [`tidy`]: the rules of the house that no compiler knows.
//! - [`command`]: the other commands.
//! - [`workspace`], [`shell`]: finding files and running programs.

pub mod check;
pub mod cli;
pub mod command;
pub mod shell;
pub mod tidy;
pub mod workspace;
