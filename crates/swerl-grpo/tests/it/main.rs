//! Tests of swerl-grpo: tensor functions against f64 twins, laws, and whole runs of a small policy.

// Helpers fail by panicking, as the tests that call them.
#![allow(clippy::unwrap_used)]

mod advantage;
mod batch;
mod checkpoint;
mod golden;
mod laws;
mod loss;
mod optimizer;
mod ours;
mod passes;
mod preset;
mod refuse;
mod sft;
mod supervised;
mod support;
mod train;
mod twin;
