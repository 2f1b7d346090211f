//! CHANGELOG.md follows Keep a Changelog: a section for what is not released yet, always.

use super::{Finding, Project};

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    let text = project.texts.iter().find(|(path, _)| path == "CHANGELOG.md");
    let ok = text.is_some_and(|(_, text)| text.lines().any(|line| line == "## [Unreleased]"));
    if !ok {
        findings.push(Finding {
            path: "CHANGELOG.md".into(),
            line: 0,
            message: "needs a section `## [Unreleased]`".into(),
        });
    }
}
