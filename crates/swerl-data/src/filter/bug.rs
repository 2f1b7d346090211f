//! Whether an issue, or a commit message in its place, reports a bug.
//!
//! Labels decide where they speak; a bug label outweighs all others. Then, first match wins:
//! plain feature words in the title, words for prose in the title without a symptom, bug words in
//! the title, feature words that open the title, bug words in the body, feature words in the
//! body. What none of them catches is taken for a bug: recall first.

const BUG_LABELS: [&str; 12] = [
    "bug",
    "bugs",
    "bugfix",
    "defect",
    "defects",
    "regression",
    "crash",
    "crasher",
    "panic",
    "broken",
    "fix",
    "hotfix",
];
const OTHER_LABELS: [&str; 28] = [
    "enhancement",
    "enhancements",
    "feature",
    "features",
    "question",
    "questions",
    "documentation",
    "docs",
    "doc",
    "proposal",
    "rfc",
    "discussion",
    "idea",
    "wishlist",
    "wish",
    "improvement",
    "refactor",
    "refactoring",
    "cleanup",
    "chore",
    "task",
    "tracking",
    "epic",
    "maintenance",
    "dependencies",
    "release",
    "typo",
    "deprecation",
];
/// In a title: not a bug, whatever else it says.
const PLAIN_FEATURE: [&str; 14] = [
    "feature request",
    "[feature",
    "[docs",
    "[question",
    "[rfc",
    "rfc:",
    "enhancement:",
    "feature:",
    "[enhancement",
    "proposal:",
    "[proposal",
    "question:",
    "would be nice",
    "feature proposal",
];
/// Conventional commit types that are no fix.
const OTHER_TYPES: [&str; 12] = [
    "feat", "docs", "doc", "chore", "refactor", "style", "ci", "build", "test", "tests", "perf",
    "release",
];
/// At a word's start, in a title: about prose, unless a symptom is named too.
const PROSE: [&str; 12] = [
    "typo",
    "spelling",
    "misspell",
    "grammar",
    "docstring",
    "documentation",
    "docs",
    "doc fix",
    "changelog",
    "readme",
    "broken link",
    "wording",
];
const SYMPTOMS: [&str; 9] = [
    "crash",
    "exception",
    "traceback",
    "panic",
    "segfault",
    "typeerror",
    "nameerror",
    "attributeerror",
    "raises",
];
/// At a word's start, in a title: a bug.
const BUG_WORDS: [&str; 50] = [
    "fix",
    "bug",
    "error",
    "exception",
    "traceback",
    "crash",
    "panic",
    "fail",
    "wrong",
    "incorrect",
    "inaccurate",
    "broken",
    "breaks",
    "break ",
    "regress",
    "hang",
    "hung",
    "leak",
    "deadlock",
    "segfault",
    "overflow",
    "underflow",
    "off by one",
    "off-by-one",
    "does not",
    "doesn't",
    "doesnt",
    "do not ",
    "don't",
    "not work",
    "can't",
    "cannot",
    "unable to",
    "unexpected",
    "invalid",
    "missing",
    "never ",
    "ignored",
    "ignores",
    "raises",
    "throws",
    "corrupt",
    "race condition",
    "infinite",
    "stuck",
    "lost",
    "duplicate",
    "mishandl",
    "misses",
    "unhandled",
];
/// At the start of a title: not a bug, unless a bug word follows.
const FEATURE_STARTS: [&str; 57] = [
    "add ",
    "adds ",
    "added ",
    "adding ",
    "allow ",
    "allows ",
    "implement",
    "introduce",
    "support ",
    "enable ",
    "improve",
    "refactor",
    "rename",
    "document",
    "docs",
    "update ",
    "updates ",
    "upgrade",
    "release",
    "prepare ",
    "clean up",
    "cleanup",
    "remove ",
    "removes ",
    "move ",
    "simplify",
    "speed up",
    "optimi",
    "migrate",
    "switch to ",
    "use ",
    "make ",
    "how to",
    "how do ",
    "is it possible",
    "please add",
    "provide ",
    "new ",
    "create ",
    "expose ",
    "extend ",
    "bump ",
    "replace ",
    "version ",
    "test ",
    "tests ",
    "organi",
    "reorgani",
    "annotate",
    "type hint",
    "reformat",
    "format ",
    "deprecate",
    "drop ",
    "pin ",
    "lint",
    "tweak ",
];
const BUG_BODY: [&str; 18] = [
    "traceback (most recent call last)",
    "steps to reproduce",
    "to reproduce",
    "expected behavior",
    "expected behaviour",
    "actual behavior",
    "actual behaviour",
    "expected result",
    "stack trace",
    "stacktrace",
    "what went wrong",
    "thread 'main' panicked",
    "describe the bug",
    "reproduc",
    "regression",
    "a bug",
    "instead of",
    "unexpected",
];
const FEATURE_BODY: [&str; 12] = [
    "is your feature request related",
    "describe the solution you'd like",
    "would be nice",
    "would be great",
    "would be useful",
    "would be helpful",
    "would love to",
    "feature request",
    "i'd like to be able",
    "it would be good",
    "i propose",
    "this pr adds",
];

/// Whether a text with these labels asks for a fix.
#[must_use]
pub fn reports_bug(title: &str, body: &str, labels: &[String]) -> bool {
    if let Some(verdict) = by_labels(labels) {
        return verdict;
    }
    let title = title.trim().to_lowercase();
    let body = body.to_lowercase();
    let kind = conventional_type(&title);
    if kind.is_some_and(|kind| matches!(kind, "fix" | "bug" | "bugfix" | "hotfix")) {
        return true;
    }
    let plain = PLAIN_FEATURE.iter().any(|phrase| title.contains(phrase));
    if plain || kind.is_some_and(|kind| OTHER_TYPES.contains(&kind)) {
        return false;
    }
    let names = |words: &[&str]| words.iter().any(|word| has_at_word_start(&title, word));
    if names(&PROSE) && !names(&SYMPTOMS) {
        return false;
    }
    if names(&BUG_WORDS) {
        return true;
    }
    // `release_notes` or `update()` at the start is a name, not a wish.
    let first = title.split_whitespace().next().unwrap_or("");
    let is_name = first.contains(['_', '.', '(', '`', ':']);
    if !is_name && FEATURE_STARTS.iter().any(|start| title.starts_with(start)) {
        return false;
    }
    BUG_BODY.iter().any(|phrase| body.contains(phrase))
        || !FEATURE_BODY.iter().any(|phrase| body.contains(phrase))
}

fn by_labels(labels: &[String]) -> Option<bool> {
    let mut other = false;
    for label in labels {
        let lower = label.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        if words.join(" ").contains("not a bug") || words.contains(&"notabug") {
            return Some(false);
        }
        if words.iter().any(|word| BUG_LABELS.contains(word)) {
            return Some(true);
        }
        other |= words.iter().any(|word| OTHER_LABELS.contains(word));
    }
    other.then_some(false)
}

/// `feat(parser)!: title` -> `feat`.
fn conventional_type(title: &str) -> Option<&str> {
    let (head, _) = title.split_once(':')?;
    let head = head.trim_end_matches('!');
    let kind = head.split('(').next()?;
    let scoped = head.len() == kind.len() || head.ends_with(')');
    (scoped && !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase())).then_some(kind)
}

fn has_at_word_start(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
