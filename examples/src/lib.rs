//! Shared pieces of the example programs.

pub mod pretrain;

/// The snippets of the repository's README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
