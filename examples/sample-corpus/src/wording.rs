//! The sentences of issues, pull requests and commit messages, all built from short frames.
//!
//! An issue names its function in backticks and says what it does wrong and what is expected, in
//! fewer than 45 words with its title.

use crate::random::Stream;
use crate::source::Wordings;

/// A title and a body.
pub(crate) struct Text {
    pub(crate) title: String,
    pub(crate) body: String,
}

/// `{f}` is the function, `{t}` a title's verb phrase.
const ISSUE_TITLES: &[&str] = &[
    "`{f}` {t}",
    "`{f}` {t}",
    "Bug: `{f}` {t}",
    "{f} {t}",
    "Function `{f}` {t}",
    "Wrong result: `{f}` {t}",
];

/// `{w}` says what is wrong, `{e}` what is expected, `{p}` is the file.
const ISSUE_BODIES: &[&str] = &[
    "`{f}` {w}. It should {e}.",
    "When I call it, `{f}` {w}. It should {e}.",
    "I noticed that `{f}` {w}. Please make it {e}.",
    "`{f}` should {e}. At the moment it {w}.",
    "`{f}` in `{p}` {w}. It must {e}.",
    "In `{p}`, `{f}` {w}. I expected it to {e}.",
    "Found while testing: `{f}` {w}. It ought to {e}.",
    "`{f}` has a bug. It {w}, but it should {e}.",
    "I expected `{f}` to {e}. Instead it {w}.",
    "Our numbers are off. `{f}` {w}, it should {e}.",
    "`{f}` {w}.\n\nExpected: it should {e}.",
    "What happens: `{f}` {w}.\nWhat should happen: it should {e}.",
    "This broke our job today. `{f}` {w}. It needs to {e}.",
    "The result of `{f}` is wrong. It {w}. It has to {e}.",
    "It looks like `{f}` {w}. The fix is to {e}.",
];

const PULL_TITLES: &[&str] = &[
    "Make `{f}` {e}",
    "Fix `{f}`: {e}",
    "Fix `{f}`, which {t}",
    "{f}: {e}",
    "Fix a bug in `{f}`: it {t}",
];

const PULL_LEADS: &[&str] = &[
    "",
    "",
    "A small fix.",
    "`{f}` should {e}.",
    "The function {w}.",
    "Checked by hand on a few values.",
];

const CLOSING: &[&str] =
    &["Fixes", "Fixes", "Fixes", "Fixes", "Closes", "Resolves", "fixes", "Fix"];

struct Parts<'a> {
    function: &'a str,
    path: &'a str,
    title: &'a str,
    wrong: &'a str,
    expected: &'a str,
}

impl Parts<'_> {
    fn fill(&self, frame: &str) -> String {
        frame
            .replace("{f}", self.function)
            .replace("{p}", self.path)
            .replace("{t}", self.title)
            .replace("{w}", self.wrong)
            .replace("{e}", self.expected)
    }
}

fn parts<'a>(
    function: &'a str,
    path: &'a str,
    from: &'a Wordings,
    stream: &mut Stream,
) -> Parts<'a> {
    Parts {
        function,
        path,
        title: stream.pick::<String>(&from.titles),
        wrong: stream.pick::<String>(&from.wrongs),
        expected: stream.pick::<String>(&from.expected),
    }
}

/// The issue that reports a planted bug.
pub(crate) fn bug_issue(function: &str, path: &str, from: &Wordings, stream: &mut Stream) -> Text {
    let parts = parts(function, path, from, stream);
    let title = parts.fill(stream.pick::<&str>(ISSUE_TITLES));
    let body = parts.fill(stream.pick::<&str>(ISSUE_BODIES));
    Text { title, body }
}

/// The title and lead of the pull request that fixes a planted bug, without its link to the issue.
pub(crate) fn fix_pull(function: &str, path: &str, from: &Wordings, stream: &mut Stream) -> Text {
    let parts = parts(function, path, from, stream);
    let title = parts.fill(stream.pick::<&str>(PULL_TITLES));
    let body = parts.fill(stream.pick::<&str>(PULL_LEADS));
    Text { title, body }
}

/// A sentence that links an issue, "Fixes #12" or the like.
pub(crate) fn closing(number: u64, stream: &mut Stream) -> String {
    format!("{} #{number}", stream.pick::<&str>(CLOSING))
}

const REQUESTS: &[&str] = &[
    "Please add a function `{f}` to `{p}`. It would help us a lot.",
    "It would be nice to have `{f}` in `{p}`.",
    "Could you add `{f}`? We write it by hand in every project.",
    "I would like a new helper `{f}` next to the others in `{p}`.",
];
const REQUEST_TITLES: &[&str] = &["Add `{f}`", "Feature request: `{f}`", "Please support `{f}`"];

/// The issue that asks for a new function.
pub(crate) fn feature_issue(function: &str, path: &str, stream: &mut Stream) -> Text {
    let parts = Parts { function, path, title: "", wrong: "", expected: "" };
    let title = parts.fill(stream.pick::<&str>(REQUEST_TITLES));
    let body = parts.fill(stream.pick::<&str>(REQUESTS));
    Text { title, body }
}

const COMMENTS: &[&str] = &[
    "Thanks for the report.",
    "I can see this too.",
    "I will take a look.",
    "Confirmed on the current main branch.",
    "A pull request is welcome.",
    "Same here since last week.",
];

/// A comment on an issue.
pub(crate) fn comment(stream: &mut Stream) -> String {
    (*stream.pick::<&str>(COMMENTS)).to_owned()
}

const DOC_LINES: &[&str] = &[
    "The {a} is read before the {b}.",
    "Set the {a} once for every {b}.",
    "Each {a} has its own {b}.",
    "See the {a} for how a {b} is made.",
    "The {b} follows from the {a}.",
];

/// A line of documentation about two things.
pub(crate) fn doc_line(first: &str, second: &str, stream: &mut Stream) -> String {
    stream.pick::<&str>(DOC_LINES).replace("{a}", first).replace("{b}", second) + "\n"
}
