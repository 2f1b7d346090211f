//! Shared pieces of the example programs.

pub mod pretrain;
