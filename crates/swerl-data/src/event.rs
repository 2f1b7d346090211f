//! The events that matter, as slim structs: what the curation never reads is never kept.
//!
//! The layout is that of GH Archive from 2015 on. Unknown fields are ignored. Since 2025-10-07
//! payloads lack title, body and merge fields; such a pull request has no `title` here.

use serde::Deserialize;

use crate::time::Timestamp;

pub mod gharchive;
pub(crate) mod lines;

/// One line of an events file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A pull request was opened, closed, ...
    PullRequest(PullRequestEvent),
    /// An issue was opened, closed, commented on, ...
    Issue(IssueEvent),
    /// Any other event.
    Other,
}

/// A pull request as it stood at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestEvent {
    /// The number of the event; later events have larger ones.
    pub event_id: u64,
    /// When it happened.
    pub at: Timestamp,
    /// `owner/name`.
    pub repo: String,
    /// `opened`, `closed`, `reopened`, ...
    pub action: String,
    /// The pull request.
    pub pull_request: WirePullRequest,
}

/// An issue as it stood at one moment, from an `IssuesEvent` or an `IssueCommentEvent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueEvent {
    /// The number of the event.
    pub event_id: u64,
    /// When it happened.
    pub at: Timestamp,
    /// `owner/name`.
    pub repo: String,
    /// `opened`, `closed`, `created` or `edited` or `deleted` for a comment, ...
    pub action: String,
    /// The issue.
    pub issue: WireIssue,
    /// The comment, where the event is about one.
    pub comment: Option<WireComment>,
}

/// A comment's fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WireComment {
    /// Its number on the whole site.
    pub id: u64,
    /// The author; missing when the account is gone.
    pub user: Option<WireUser>,
    /// Its text.
    pub body: Option<String>,
}

/// A user as events name them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WireUser {
    /// The account's name.
    #[serde(default)]
    pub login: String,
    /// `User`, `Bot`, `Organization`.
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// A label.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WireLabel {
    /// Its text.
    #[serde(default)]
    pub name: String,
}

/// One end of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WireEnd {
    /// The commit.
    pub sha: String,
}

/// A pull request's fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WirePullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Missing in slim payloads.
    pub title: Option<String>,
    /// The description.
    pub body: Option<String>,
    /// The author; missing when the account is gone.
    pub user: Option<WireUser>,
    /// When it was opened.
    pub created_at: Option<Timestamp>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// Whether it was merged.
    pub merged: Option<bool>,
    /// The commit that merged it; before a merge, a trial merge.
    pub merge_commit_sha: Option<String>,
    /// Missing in the layout of 2015.
    #[serde(default)]
    pub labels: Option<Vec<WireLabel>>,
    /// The target branch.
    pub base: WireEnd,
    /// The proposed branch.
    pub head: WireEnd,
}

/// An issue's fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WireIssue {
    /// Its number in the repository.
    pub number: u64,
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub body: Option<String>,
    /// Its labels.
    #[serde(default)]
    pub labels: Option<Vec<WireLabel>>,
    /// Its page.
    pub html_url: Option<String>,
    /// Whether the "issue" is a pull request: they share numbers and events.
    #[serde(rename = "pull_request", default, deserialize_with = "is_present")]
    pub is_pull_request: bool,
}

fn is_present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<serde::de::IgnoredAny>::deserialize(deserializer)?.is_some())
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct Line<P> {
    #[serde(deserialize_with = "event_id")]
    id: u64,
    repo: Repo,
    payload: P,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct Repo {
    name: String,
}

#[derive(Deserialize)]
struct PullPayload {
    #[serde(default)]
    action: String,
    pull_request: WirePullRequest,
}

#[derive(Deserialize)]
struct IssuePayload {
    #[serde(default)]
    action: String,
    issue: WireIssue,
    #[serde(default)]
    comment: Option<WireComment>,
}

/// Event ids are texts of digits; some tools rewrite them as numbers.
fn event_id<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Number(u64),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

/// The type of an event that begins with its id and type, as all of GH Archive do; nearly all bytes
/// of an archive are skipped by it.
fn kind_at_start(line: &[u8]) -> Option<&[u8]> {
    let id = line.strip_prefix(br#"{"id":""#)?;
    let rest = &id[id.iter().position(|byte| !byte.is_ascii_digit())?..];
    let kind = rest.strip_prefix(br#"","type":""#)?;
    let length = kind.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    (kind[length] == b'"').then_some(&kind[..length])
}

impl Event {
    /// Reads one line. One that begins as GH Archive's do (`{"id":"1","type":"PushEvent"`) and is of
    /// no kept type is not looked at any further.
    ///
    /// # Errors
    /// If it is not JSON, has no `type`, or is of a kept type and lacks a field that every layout
    /// since 2015 has.
    pub fn from_json(line: &[u8]) -> Result<Self, serde_json::Error> {
        match kind_at_start(line) {
            Some(kind) => Self::of_kind(kind, line),
            None => {
                let head: Head<'_> = serde_json::from_slice(line)?;
                Self::of_kind(head.kind.as_bytes(), line)
            }
        }
    }

    fn of_kind(kind: &[u8], line: &[u8]) -> Result<Self, serde_json::Error> {
        match kind {
            b"PullRequestEvent" => {
                let line: Line<PullPayload> = serde_json::from_slice(line)?;
                Ok(Self::PullRequest(PullRequestEvent {
                    event_id: line.id,
                    at: line.created_at,
                    repo: line.repo.name,
                    action: line.payload.action,
                    pull_request: line.payload.pull_request,
                }))
            }
            b"IssuesEvent" | b"IssueCommentEvent" => {
                let line: Line<IssuePayload> = serde_json::from_slice(line)?;
                Ok(Self::Issue(IssueEvent {
                    event_id: line.id,
                    at: line.created_at,
                    repo: line.repo.name,
                    action: line.payload.action,
                    issue: line.payload.issue,
                    comment: line.payload.comment,
                }))
            }
            _ => Ok(Self::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, kind_at_start};

    #[test]
    fn the_type_is_told_by_the_first_bytes() {
        let kind = |line: &str| kind_at_start(line.as_bytes()).map(<[u8]>::to_vec);
        assert_eq!(kind(r#"{"id":"12","type":"PushEvent","actor":{"#), Some(b"PushEvent".to_vec()));
        for line in [
            r#"{"id":"12","type":"PushEvent"#,
            r#"{"id":"12","type":"Push\u0045vent","#,
            r#"{"id":12,"type":"PushEvent","#,
            r#"{"type":"PushEvent","id":"12","#,
            "",
        ] {
            assert_eq!(kind(line), None, "{line}");
        }
    }

    #[test]
    fn other_types_need_not_be_whole() {
        let read = |line: &str| Event::from_json(line.as_bytes());
        assert_eq!(read(r#"{"id":"1","type":"WatchEvent","payl"#).unwrap(), Event::Other);
        assert_eq!(read(r#"{"type": "WatchEvent"}"#).unwrap(), Event::Other);
        assert!(read(r#"{"type": "WatchEvent""#).is_err());
        assert!(read(r#"{"id":"1","type":"IssuesEvent","payl"#).is_err());
    }
}
