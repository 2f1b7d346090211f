//! Merges of the target branch into a branch, and of long-lived branches into one another: they
//! bring what others have fixed.
//!
//! The names are those of usual target and release branches. A title or a merge subject counts
//! only if nothing but the branches is in it: "Merge branch 'main' into x", "Merge main into dev",
//! "Sync develop with master", a pull request whose title is "Develop" alone.

/// Branch names that are targets, not proposals.
const TARGETS: [&str; 10] = [
    "main",
    "master",
    "develop",
    "development",
    "dev",
    "trunk",
    "stable",
    "default",
    "staging",
    "next",
];

/// Whether a branch's name, with or without its remote, is that of a target.
#[must_use]
pub fn is_target_name(name: &str) -> bool {
    let name = name.rsplit_once('/').map_or(name, |(remote, last)| {
        let known = matches!(remote, "origin" | "upstream") || remote.ends_with("/origin");
        if known { last } else { name }
    });
    // `8.1.x`, `v2-stable`: a branch of releases.
    let plain = name.trim_start_matches('v');
    let releases = plain.starts_with(|c: char| c.is_ascii_digit())
        && (plain.contains('.') || plain.ends_with("stable"));
    TARGETS.contains(&name) || name.starts_with("release") || releases
}

/// Whether a merge commit's subject names a target branch as what was merged.
#[must_use]
pub fn merges_target(subject: &str) -> bool {
    let Some(rest) = subject.strip_prefix("Merge ") else { return false };
    let rest = rest.strip_prefix("remote-tracking ").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix("branch ").or_else(|| rest.strip_prefix("branches ")) else {
        return rest.starts_with("tag ");
    };
    is_target_name(rest.trim_start_matches('\'').split('\'').next().unwrap_or(""))
}

/// Whether a pull request's title says that it merges a target branch.
#[must_use]
pub fn is_merge_title(title: &str) -> bool {
    if merges_target(title.trim()) {
        return true;
    }
    let lower = title.trim().to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ':' | ','))
        .filter(|word| {
            !word.is_empty() && !matches!(*word, "branch" | "changes" | "the" | "latest")
        })
        .collect();
    match words[..] {
        [name] => TARGETS[..5].contains(&name),
        ["merge" | "sync" | "update", name] => is_target_name(name),
        ["merge" | "merging" | "sync" | "backmerge" | "pull", "from", name]
        | [
            "merge" | "merging" | "sync" | "backmerge" | "update",
            name,
            "into" | "to" | "in" | "with" | "from" | "->" | "=>" | "→",
            _,
        ]
        | [name, "into" | "to" | "->" | "=>" | "→", _] => is_target_name(name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_merge_title, merges_target};

    #[test]
    fn subjects() {
        for subject in [
            "Merge branch 'main'",
            "Merge branch 'master' of github.com:o/r into x",
            "Merge remote-tracking branch 'origin/main' into x",
            "Merge tag 'v1.2'",
            "Merge branch '8.1.x'",
        ] {
            assert!(merges_target(subject), "{subject}");
        }
        for subject in ["Merge branch 'fix/main'", "Merge pull request #1 from o/main", "Merge x"] {
            assert!(!merges_target(subject), "{subject}");
        }
    }

    #[test]
    fn titles() {
        for title in [
            "Merge branch 'main' into feature",
            "Merge main into develop",
            "merge master to release-2",
            "Sync develop with main",
            "Develop",
            "master -> stable",
            "Merge from upstream/main",
        ] {
            assert!(is_merge_title(title), "{title}");
        }
        for title in [
            "Merge sort is not stable",
            "Fix crash in main",
            "Main window does not open",
            "Update main to handle None",
            "Merge two lists into one",
        ] {
            assert!(!is_merge_title(title), "{title}");
        }
    }
}
