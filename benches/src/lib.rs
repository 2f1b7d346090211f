//! Deterministic inputs for the benchmarks: texts come from this workspace's sources, changes from counters.
//!
//! What is inside a timed region is said at each benchmark.

pub mod revisions;
