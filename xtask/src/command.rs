//! The commands besides `check` and `tidy`, one module each.

pub mod e2e;
pub mod features;
pub mod golden;
pub mod package;
pub mod pretrain_demo;
pub mod sample_data;
