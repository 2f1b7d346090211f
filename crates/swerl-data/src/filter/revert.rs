//! Changes that take an earlier one back: their text tells of the change undone, not of a bug.

/// Whether title or body say so, in the words that git and GitHub write.
#[must_use]
pub fn is_revert(title: &str, body: &str) -> bool {
    let lower = title.trim_start().to_ascii_lowercase();
    let words = ["revert ", "revert:", "revert(", "reverts ", "revert\"", "back out ", "backout "];
    words.iter().any(|start| lower.starts_with(start))
        || body.lines().any(|line| {
            // Written by `git revert`; GitHub writes `Reverts owner/name#12` as the whole body.
            let line = line.trim();
            line.starts_with("This reverts commit ") || is_reference(line.strip_prefix("Reverts "))
        })
}

/// `#12` or `owner/name#12`, and nothing else.
fn is_reference(text: Option<&str>) -> bool {
    text.and_then(|text| text.split_once('#')).is_some_and(|(repository, number)| {
        !repository.contains(' ')
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::is_revert;

    #[test]
    fn reverts() {
        for (title, body, expected) in [
            ("Revert \"Fix it\"", "", true),
            ("revert: fix it", "", true),
            ("Undo", "This reverts commit 0123456.", true),
            ("Undo", "Reverts acme/tool#12", true),
            ("Undo", "Reverts #12", true),
            ("Fix revert of settings", "", false),
            ("Reverting fails on empty lists", "", false),
            ("Fix", "Reverts the order of the list", false),
            ("Fix", "Reverts to #12 when empty", false),
        ] {
            assert_eq!(is_revert(title, body), expected, "{title} {body}");
        }
    }
}
