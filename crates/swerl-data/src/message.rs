//! What a commit message on the first-parent history says about a pull request.
//!
//! Merge subjects of GitHub, GitLab, Bitbucket, Gitea, Azure and bors are recognised; a squash
//! commit carries its number as `(#12)` at the end of its subject. Trailers (`Signed-off-by:`
//! and the like) are cut off the text.

use crate::filter::merge_of_target::merges_target;

/// What a message tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeMessage {
    /// The pull request's number, where the message has one.
    pub number: Option<u64>,
    /// The change's title; empty where the message tells only that there was a merge.
    pub title: String,
    /// The text below it, without trailers.
    pub body: String,
    /// Whether the message says that the target branch was merged into a branch.
    pub merges_target: bool,
}

/// Reads the message of a commit with several parents.
#[must_use]
pub fn merge_message(message: &str) -> MergeMessage {
    let (subject, rest) = split_subject(message);
    let mut found = MergeMessage::default();
    if let Some(quoted) = subject.strip_prefix("Merge pull request '") {
        // Gitea: Merge pull request 'Title' (#12) from branch into main
        if let Some((title, tail)) = quoted.rsplit_once("' (#") {
            found.number = leading_number(tail);
            found.title = title.to_owned();
            found.body = without_trailers(rest);
            return found;
        }
    }
    if let Some((number, title)) =
        subject.strip_prefix("Merged PR ").and_then(|s| s.split_once(": "))
    {
        found.number = number.parse().ok();
        found.title = title.to_owned();
        found.body = without_trailers(rest);
        return found;
    }
    let numbered = ["Merge pull request #", "Auto merge of #", "Merge #", "Merge PR #"];
    found.number = numbered
        .iter()
        .find_map(|start| subject.strip_prefix(start).and_then(leading_number))
        .or_else(|| subject.split_once("(pull request #").and_then(|(_, s)| leading_number(s)))
        .or_else(|| gitlab_number(rest));
    found.merges_target = found.number.is_none() && merges_target(subject);
    let generated = subject.starts_with("Merge") || subject.starts_with("Auto merge");
    if generated {
        let (title, body) = split_subject(rest.trim_start());
        let (title, _) = squash_number(title);
        found.title = title.to_owned();
        found.body = without_trailers(body);
    } else {
        let (title, number) = squash_number(subject);
        found.number = found.number.or(number);
        found.title = title.to_owned();
        found.body = without_trailers(rest);
    }
    if found.title.starts_with("See merge request ") || is_trailer(&found.title) {
        found.title = String::new();
    }
    found
}

/// Reads the message of a commit with one parent. `number` is `None` unless its subject ends
/// with `(#12)` or starts as Azure's squash commits do.
#[must_use]
pub fn squash_message(message: &str) -> MergeMessage {
    let (subject, rest) = split_subject(message);
    let azure = subject.strip_prefix("Merged PR ").and_then(|s| s.split_once(": "));
    let (title, number) = match azure {
        Some((number, title)) => (title, number.parse().ok()),
        None => squash_number(subject),
    };
    MergeMessage {
        number,
        title: title.to_owned(),
        body: without_trailers(rest),
        merges_target: false,
    }
}

fn split_subject(message: &str) -> (&str, &str) {
    let message = message.trim_start_matches(['\n', '\r']);
    let (subject, rest) = message.split_once('\n').unwrap_or((message, ""));
    (subject.trim(), rest)
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// `Title (#12)` -> (`Title`, 12).
fn squash_number(subject: &str) -> (&str, Option<u64>) {
    let inside = subject.strip_suffix(')').and_then(|start| start.rsplit_once("(#"));
    if let Some((title, number)) = inside
        && let Ok(number) = number.parse()
    {
        return (title.trim_end(), Some(number));
    }
    (subject, None)
}

fn gitlab_number(body: &str) -> Option<u64> {
    let line = body.lines().find(|line| line.starts_with("See merge request "))?;
    line.rsplit_once('!').and_then(|(_, number)| leading_number(number))
}

fn is_trailer(line: &str) -> bool {
    const NAMES: [&str; 14] = [
        "signed-off-by",
        "co-authored-by",
        "co-developed-by",
        "reviewed-by",
        "acked-by",
        "tested-by",
        "reported-by",
        "suggested-by",
        "approved-by",
        "change-id",
        "reviewed-on",
        "cc",
        "git-svn-id",
        "see merge request",
    ];
    let lower = line.trim().to_ascii_lowercase();
    lower.starts_with("(cherry picked from commit ")
        || lower.starts_with("see merge request ")
        || lower.split_once(':').is_some_and(|(name, _)| NAMES.contains(&name))
}

/// The text without trailer lines, trimmed.
fn without_trailers(text: &str) -> String {
    let kept: Vec<&str> =
        text.lines().filter(|line| !is_trailer(line)).map(str::trim_end).collect();
    kept.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{merge_message, squash_message};

    #[track_caller]
    fn check(message: &str, number: Option<u64>, title: &str, body: &str) {
        let found = merge_message(message);
        assert_eq!(
            (found.number, found.title.as_str(), found.body.as_str()),
            (number, title, body)
        );
        assert!(!found.merges_target, "{message}");
    }

    #[test]
    fn merges_of_many_hosts() {
        check("Merge pull request #12 from o/b\n\nFix it\n\nMore.\n", Some(12), "Fix it", "More.");
        check("Merge pull request #12 from o/b\n", Some(12), "", "");
        check(
            "Merge branch 'x' into 'main'\n\nFix it\n\nCloses #3\n\nSee merge request g/p!12\n",
            Some(12),
            "Fix it",
            "Closes #3",
        );
        check("Merge branch 'x' into 'main'\n\nSee merge request g/p!12\n", Some(12), "", "");
        check("Merged in fix-it (pull request #7)\n\nFix it\n", Some(7), "Fix it", "");
        check(
            "Merge pull request 'Fix it' (#9) from x into main\n\nMore.\nSigned-off-by: A <a@b>",
            Some(9),
            "Fix it",
            "More.",
        );
        check("Merged PR 4: Fix it\n\nMore.", Some(4), "Fix it", "More.");
        check("Auto merge of #5 - a:b, r=c\n\nFix it\n", Some(5), "Fix it", "");
        check("Merge branch 'topic'\n", None, "", "");
        check("Fix it (#8)\n\nMore.", Some(8), "Fix it", "More.");
    }

    #[test]
    fn merges_of_the_target() {
        for subject in [
            "Merge branch 'main'",
            "Merge branch 'master' of github.com:o/r into x",
            "Merge remote-tracking branch 'origin/main' into x",
            "Merge tag 'v1.2'",
            "Merge branch '8.1.x'",
            "Merge branch 'release/2' into main",
        ] {
            assert!(merge_message(subject).merges_target, "{subject}");
        }
        for subject in [
            "Merge branch 'fix/main'",
            "Merge pull request #1 from o/main",
            "Merge branch 'mainline'",
            "Merge branch '123-fix-it'",
        ] {
            assert!(!merge_message(subject).merges_target, "{subject}");
        }
    }

    #[test]
    fn squashes() {
        let found = squash_message("Fix it (#12)\n\n* more\n\nCo-authored-by: A <a@b>\n");
        assert_eq!(
            (found.number, found.title.as_str(), found.body.as_str()),
            (Some(12), "Fix it", "* more")
        );
        assert_eq!(squash_message("Fix (12)").number, None);
        assert_eq!(squash_message("Fix #12").number, None);
        assert_eq!(squash_message("Merged PR 4: Fix it").number, Some(4));
    }
}
