//! Deterministic inputs for the benchmarks: nothing is read from disk and no seed is drawn.
//!
//! What is inside a timed region is said at each benchmark.

pub mod revisions;
