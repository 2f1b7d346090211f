//! Rows of other tools: seeds written as TRL, verl and SWE-bench rows, instances of SWE-bench,
//! SWE-Gym, SWE-smith and R2E-Gym read into seeds.

mod build;
mod export;
mod import;
mod instance;

pub use export::{Message, swe_bench_row, trl_row, verl_row};
pub use import::import_instances;
pub use instance::{Instance, InstanceFormat, InstanceProblem};
