//! Which issues a text says it closes, by GitHub's rules.
//!
//! A closing keyword (`close`, `closes`, `closed`, `fix`, `fixes`, `fixed`, `resolve`,
//! `resolves`, `resolved`, any case, at a word's start), an optional colon, white space, then
//! `#12`, `GH-12`, `owner/name#12` or `https://github.com/owner/name/issues/12`. A keyword closes
//! one issue: of `fixes #1, #2` only the first. Nothing inside HTML comments (pull request
//! templates!), fenced code or code spans counts.

/// An issue that a text closes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IssueLink {
    /// `owner/name` as written; `None` for the text's own repository.
    pub repo: Option<String>,
    /// The issue's number.
    pub number: u64,
}

/// Where a closing keyword stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSource {
    /// The description of the pull request.
    Body,
    /// Its title, which becomes the message of a squash or merge commit.
    Title,
    /// The message of one of its commits.
    Commit,
}

/// The issues that a pull request closes, each under the first source that names it: body, then
/// title, then commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkedIssues {
    /// Numbers of issues of its own repository.
    pub own: Vec<(u64, LinkSource)>,
    /// Issues of other repositories (`owner/name` as written, number). Kept apart: GitHub closes
    /// them only for who may write there, and their numbers mean nothing here.
    pub elsewhere: Vec<(String, u64, LinkSource)>,
}

impl LinkedIssues {
    /// Whether nothing is closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.elsewhere.is_empty()
    }

    /// Adds the issues that `text` closes and that are not there yet.
    pub fn add(&mut self, text: &str, repository: &str, source: LinkSource) {
        for link in closing_links(text, repository) {
            match link.repo {
                None if self.own.iter().all(|(number, _)| *number != link.number) => {
                    self.own.push((link.number, source));
                }
                Some(repo)
                    if self.elsewhere.iter().all(|(known, number, _)| {
                        *number != link.number || !known.eq_ignore_ascii_case(&repo)
                    }) =>
                {
                    self.elsewhere.push((repo, link.number, source));
                }
                _ => {}
            }
        }
    }
}

/// All issues that a pull request of `repository` closes by its words.
#[must_use]
pub fn linked_issues<'a>(
    repository: &str,
    title: &str,
    body: &str,
    commits: impl IntoIterator<Item = &'a str>,
) -> LinkedIssues {
    let mut found = LinkedIssues::default();
    found.add(body, repository, LinkSource::Body);
    found.add(title, repository, LinkSource::Title);
    for message in commits {
        found.add(message, repository, LinkSource::Commit);
    }
    found
}

const KEYWORDS: [&str; 9] =
    ["closes", "closed", "close", "fixes", "fixed", "fix", "resolves", "resolved", "resolve"];

/// The issues that `text` closes, in order of appearance, each once. Links that name
/// `repository` itself come out as links of the text's own repository.
#[must_use]
pub fn closing_links(text: &str, repository: &str) -> Vec<IssueLink> {
    let visible = without_code_and_comments(text);
    let mut links: Vec<IssueLink> = Vec::new();
    let mut before = ' ';
    for (at, letter) in visible.char_indices() {
        if !is_word(before) && letter.is_ascii_alphabetic() {
            let found = after_keyword(&visible[at..]).and_then(reference);
            if let Some(mut link) = found {
                link.repo = link.repo.filter(|repo| !repo.eq_ignore_ascii_case(repository));
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        before = letter;
    }
    links
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// The text behind `keyword[:] `.
fn after_keyword(text: &str) -> Option<&str> {
    let keyword = KEYWORDS.iter().find(|keyword| {
        text.get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword))
            && !text[keyword.len()..].starts_with(is_word)
    })?;
    let rest = &text[keyword.len()..];
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let trimmed = rest.trim_start();
    (trimmed.len() < rest.len()).then_some(trimmed)
}

/// The issue that the start of `text` names.
fn reference(text: &str) -> Option<IssueLink> {
    if let Some(rest) = text.strip_prefix('#') {
        return Some(IssueLink { repo: None, number: number(rest)? });
    }
    if text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("gh-")) {
        return Some(IssueLink { repo: None, number: number(&text[3..])? });
    }
    for scheme in ["https://", "http://", ""] {
        let host = text.strip_prefix(scheme).and_then(|rest| {
            rest.strip_prefix("github.com/").or_else(|| rest.strip_prefix("www.github.com/"))
        });
        if let Some(rest) = host {
            let (repo, rest) = repository(rest)?;
            let number = number(rest.strip_prefix("/issues/")?)?;
            return Some(IssueLink { repo: Some(repo.to_owned()), number });
        }
    }
    let (repo, rest) = repository(text)?;
    Some(IssueLink { repo: Some(repo.to_owned()), number: number(rest.strip_prefix('#')?)? })
}

/// Splits `owner/name` off the start of `text`.
fn repository(text: &str) -> Option<(&str, &str)> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let owner = text.bytes().take_while(|&b| plain(b)).count();
    if owner == 0 || text.as_bytes().get(owner) != Some(&b'/') {
        return None;
    }
    let name = text[owner + 1..].bytes().take_while(|&b| plain(b)).count();
    (name > 0).then(|| text.split_at(owner + 1 + name))
}

/// A positive number that no letter follows.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !text[digits..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let number: u64 = text[..digits].parse().ok()?;
    (ends && number > 0).then_some(number)
}

/// The text with HTML comments, fenced code and code spans replaced by a blank.
fn without_code_and_comments(text: &str) -> String {
    let mut uncommented = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        uncommented.push_str(&rest[..start]);
        uncommented.push(' ');
        // A comment that never ends hides the rest.
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    uncommented.push_str(rest);

    let mut visible = String::with_capacity(uncommented.len());
    let mut fence: Option<(char, usize)> = None;
    for line in uncommented.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|&c| c == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if length >= 3 => fence = Some((mark, length)),
            (Some((open, least)), Some(mark))
                if mark == open && length >= least && trimmed[length..].trim().is_empty() =>
            {
                fence = None;
            }
            (None, _) => push_without_spans(line, &mut visible),
            (Some(_), _) => {}
        }
    }
    visible
}

/// Copies a line without its code spans; a run of backticks that nothing closes is text.
fn push_without_spans(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|&b| b == b'`').count();
        let inner = &rest[start + ticks..];
        let mut from = 0;
        let close = loop {
            let Some(at) = inner[from..].find('`') else { break None };
            let run = inner[from + at..].bytes().take_while(|&b| b == b'`').count();
            if run == ticks {
                break Some(from + at + run);
            }
            from += at + run;
        };
        out.push_str(&rest[..start]);
        match close {
            Some(end) => {
                out.push(' ');
                rest = &inner[end..];
            }
            None => {
                out.push_str(&rest[start..start + ticks]);
                rest = inner;
            }
        }
    }
    out.push_str(rest);
}
