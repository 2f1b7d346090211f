//! Changes that programs propose, by account and by word.
//!
//! The words are those of the SWE-RL paper: `[bot]`, `dependabot`, `renovate`, `bump`,
//! `automerge` in title, description or user name. Unlike there a word must start at a word's
//! start ("plumbum pump" is no "bump"), "bump" must raise something, "renovate" stand alone, and
//! words inside HTML comments do not count.

const WORDS: [&str; 5] = ["[bot]", "dependabot", "renovate", "bump", "automerge"];

/// Accounts of programs that say so nowhere else.
const ACCOUNTS: [&str; 14] = [
    "dependabot-preview",
    "greenkeeperio-bot",
    "pyup-bot",
    "codecov-io",
    "snyk-bot",
    "bors",
    "mergify",
    "imgbot",
    "allcontributors",
    "web-flow",
    "github-actions",
    "pre-commit-ci",
    "k8s-ci-robot",
    "scala-steward",
];

/// Whether a program made the change.
///
/// `author` is an account name, or `Name <address>` of a commit.
#[must_use]
pub fn is_automated(author: &str, author_is_bot: bool, title: &str, body: &str) -> bool {
    is_bot_account(author, author_is_bot)
        || [author.to_ascii_lowercase().as_str(), title, body].iter().any(|text| has_word(text))
}

/// Whether an account, or the `Name <address>` of a commit, is that of a program by its type or
/// its name alone.
#[must_use]
pub fn is_bot_account(author: &str, is_bot: bool) -> bool {
    let account = author.to_ascii_lowercase();
    let name = account.split(" <").next().unwrap_or("");
    is_bot
        || ACCOUNTS.contains(&name)
        || name.ends_with("[bot]")
        || name.ends_with("-bot")
        || name.ends_with("_bot")
}

fn has_word(text: &str) -> bool {
    let lower = without_comments(text).to_lowercase();
    lower.lines().any(|line| {
        WORDS.iter().any(|word| {
            line.match_indices(word).any(|(at, _)| {
                let starts = !line[..at].chars().next_back().is_some_and(char::is_alphanumeric);
                let rest = &line[at + word.len()..];
                match *word {
                    "[bot]" => true,
                    "bump" => starts && is_bump(&line[..at], rest),
                    // "renovated" is a verb.
                    "renovate" => starts && !rest.starts_with(char::is_alphanumeric),
                    _ => starts,
                }
            })
        })
    })
}

/// Whether "bump" raises a version: it opens the line, up to a `type(scope):` or `[tag]`, or a
/// number comes later. "Normals of bump mapping" are something else.
fn is_bump(before: &str, rest: &str) -> bool {
    let before = before.trim();
    let opens = before.is_empty() || before.ends_with([':', ']', '-', '*']);
    opens || rest.bytes().any(|byte| byte.is_ascii_digit())
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::is_automated;

    #[track_caller]
    fn check(expected: bool, author: &str, title: &str, body: &str) {
        assert_eq!(is_automated(author, false, title, body), expected, "{author} {title} {body}");
    }

    #[test]
    fn words_and_accounts() {
        check(true, "dependabot[bot]", "x", "");
        check(true, "renovate-bot", "x", "");
        check(true, "ann", "Bump left-pad from 1 to 2", "");
        check(true, "ann", "Update", "Automerge: enabled");
        check(true, "Dependabot <x@y>", "Update", "");
        check(true, "pyup-bot", "Update", "");
        check(true, "ann", "chore(deps): bump left-pad", "");
        check(true, "ann", "Update", "This will bump x to 2.0");
        check(false, "ann", "Fix plumbump", "");
        check(false, "ann", "Fix normals of bump mapping", "");
        check(false, "ann", "Fix the renovated room", "");
        check(false, "abbot", "Fix robots.txt", "");
        check(false, "ann", "Fix", "<!-- bump the version -->");
        assert!(is_automated("ann", true, "Fix", ""));
    }
}
