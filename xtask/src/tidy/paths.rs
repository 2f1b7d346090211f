//! No file names a folder of the machine that it was written on: it would work there alone.

use super::{Finding, Project};

/// Beginnings of paths that exist on one machine only: homes and scratch. Written in halves, so that
/// this file passes its own rule.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Use", "rs/"), concat!("/t", "mp/")];

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (path, text) in &project.texts {
        for (index, line) in text.lines().enumerate() {
            for needle in MACHINE_PATHS {
                let hit = line.match_indices(needle).any(|(at, _)| {
                    // A path below another one, or below a variable, is no machine path.
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || ".-_}{$*/".contains(c))
                });
                if hit {
                    findings.push(Finding {
                        path: path.clone(),
                        line: index + 1,
                        message: format!("{needle} exists on one machine only"),
                    });
                }
            }
        }
    }
}
