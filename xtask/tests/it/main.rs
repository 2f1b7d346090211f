//! Tests of the automation.

mod tidy_rules;
mod workspace;
