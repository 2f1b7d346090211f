//! Tests of the sample corpus against real git and the files it writes.

mod code;
mod curate;
mod determinism;
mod events;
mod golden;
mod history;
mod split;
mod support;
