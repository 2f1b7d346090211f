//! Relative links of Markdown files lead to a file or folder of the project.
//!
//! Looked at: inline links `[text](target)` outside code fences. Left alone: absolute addresses and
//! anchors within the page.

use super::{Finding, Project};

/// Adds the findings of this rule.
pub fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (path, text) in &project.texts {
        if !path.ends_with(".md") {
            continue;
        }
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(line) {
                if !resolves(project, path, target) {
                    findings.push(Finding {
                        path: path.clone(),
                        line: index + 1,
                        message: format!("the link leads nowhere: {target}"),
                    });
                }
            }
        }
    }
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| {
        let rest = &line[at + 2..];
        let end = rest.find(')')?;
        Some(&rest[..end])
    })
}

fn resolves(project: &Project, from: &str, target: &str) -> bool {
    let file = target.split('#').next().unwrap_or(target);
    if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
    let folder = format!("{path}/");
    project.paths.iter().any(|known| *known == path || known.starts_with(&folder))
}
