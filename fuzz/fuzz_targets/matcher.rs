//! `checks::matcher` on any bytes.
#![no_main]

#[path = "../../crates/swerl-reward/tests/fuzz/checks.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::matcher(bytes));
