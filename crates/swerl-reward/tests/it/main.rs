//! Integration tests of swerl-reward, by topic.
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod combine;
mod differential;
mod explained;
mod format;
mod goldens;
mod hostile;
mod laws;
mod minimal;
mod replay;
mod unidiff;

use std::collections::BTreeMap;

/// A map of paths to texts.
fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect()
}
