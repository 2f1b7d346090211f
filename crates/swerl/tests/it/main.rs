//! Tests of the command `swerl`, run as a user runs it.

mod command_line;
mod curate;
mod plan;
mod rollouts;
mod run;
mod score;
#[cfg(feature = "aggregate")]
mod stages;
#[cfg(all(feature = "flex", unix))]
mod train;
mod view;
