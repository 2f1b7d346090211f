//! Tests of the sample corpus against real git and the files it writes.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod code;
mod curate;
mod determinism;
mod events;
mod golden;
mod history;
mod split;
mod support;
