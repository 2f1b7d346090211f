//! Pull requests and issues as many events tell them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{IssueEvent, PullRequestEvent, WireLabel};
use crate::time::Timestamp;

/// A pull request as its most telling event shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// `owner/name`.
    pub repo: String,
    /// Its number.
    pub number: u64,
    /// `None` when only slim payloads were seen.
    pub title: Option<String>,
    /// The description; empty when there is none.
    pub body: String,
    /// The author's account; empty when it is gone.
    pub author: String,
    /// Whether the author's account is of type `Bot`.
    pub author_is_bot: bool,
    /// Label texts.
    pub labels: Vec<String>,
    /// When the fix was proposed.
    pub created_at: Timestamp,
    /// Whether it was merged.
    pub merged: bool,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// The target branch's commit.
    pub base: String,
    /// The last commit of the proposed branch.
    pub head: String,
    /// The commit that merged it.
    pub merge_commit: Option<String>,
    seen: (Timestamp, u64),
}

fn label_texts(labels: Option<Vec<WireLabel>>) -> Vec<String> {
    labels.unwrap_or_default().into_iter().map(|label| label.name).collect()
}

impl PullRequest {
    /// The pull request as one event shows it.
    #[must_use]
    pub fn from_event(event: PullRequestEvent) -> Self {
        let wire = event.pull_request;
        let merged =
            wire.merged == Some(true) || wire.merged_at.is_some() || event.action == "merged";
        let user = wire.user;
        Self {
            repo: event.repo,
            number: wire.number,
            title: wire.title,
            body: wire.body.unwrap_or_default(),
            author_is_bot: user.as_ref().is_some_and(|user| user.kind == "Bot"),
            author: user.map(|user| user.login).unwrap_or_default(),
            labels: label_texts(wire.labels),
            created_at: wire.created_at.unwrap_or(event.at),
            merged,
            merged_at: wire.merged_at.or(merged.then_some(event.at)),
            base: wire.base.sha,
            head: wire.head.sha,
            merge_commit: wire.merge_commit_sha.filter(|_| merged),
            seen: (event.at, event.event_id),
        }
    }

    /// Keeps the more telling of two views of one pull request: merged before not, with title
    /// before without, then the later one. Commutative and associative.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let rank = |pull: &Self| (pull.merged, pull.title.is_some(), pull.seen);
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// An issue's text at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueSnapshot {
    /// One line.
    pub title: String,
    /// May be empty.
    pub body: String,
    /// Label texts.
    pub labels: Vec<String>,
    /// Its page.
    pub url: Option<String>,
}

/// What somebody wrote below an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The account; empty when it is gone.
    pub author: String,
    /// Whether the account is of type `Bot`.
    pub author_is_bot: bool,
    /// The text.
    pub body: String,
}

/// When an event happened, and its number.
type Moment = (Timestamp, u64);

/// An issue through time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issue {
    snapshots: BTreeMap<Moment, Arc<IssueSnapshot>>,
    /// By the comment's number: its texts through time; `None` once deleted.
    comments: BTreeMap<u64, BTreeMap<Moment, Option<Comment>>>,
}

impl Issue {
    /// Adds what one event shows. Order does not matter.
    pub fn add(&mut self, event: IssueEvent) {
        let wire = event.issue;
        let snapshot = IssueSnapshot {
            title: wire.title.unwrap_or_default(),
            body: wire.body.unwrap_or_default(),
            labels: label_texts(wire.labels),
            url: wire.html_url,
        };
        let key = (event.at, event.event_id);
        if let Some(comment) = event.comment {
            let user = comment.user;
            let text = Comment {
                author_is_bot: user.as_ref().is_some_and(|user| user.kind == "Bot"),
                author: user.map(|user| user.login).unwrap_or_default(),
                body: comment.body.unwrap_or_default(),
            };
            let text = (event.action != "deleted").then_some(text);
            self.comments.entry(comment.id).or_default().insert(key, text);
        }
        // Most events of an issue repeat its text; share it with the neighbour in time.
        let before = self.snapshots.range(..key).next_back().map(|(_, before)| before);
        let shared = match before {
            Some(before) if **before == snapshot => Arc::clone(before),
            _ => Arc::new(snapshot),
        };
        self.snapshots.insert(key, shared);
    }

    /// Adds all that another view of the same issue knows.
    pub fn merge(&mut self, other: Self) {
        self.snapshots.extend(other.snapshots);
        for (id, texts) in other.comments {
            self.comments.entry(id).or_default().extend(texts);
        }
    }

    /// The comments as they stood at `moment`, in the order in which they were first seen; those
    /// made later, or deleted by then, are left out.
    #[must_use]
    pub fn comments_at(&self, moment: Timestamp) -> Vec<&Comment> {
        let until = ..=(moment, u64::MAX);
        let mut found: Vec<(&Moment, &Comment)> = self
            .comments
            .values()
            .filter_map(|texts| {
                let (first, _) = texts.first_key_value()?;
                let (_, last) = texts.range(until).next_back()?;
                Some((first, last.as_ref()?))
            })
            .collect();
        found.sort_by_key(|(first, _)| **first);
        found.into_iter().map(|(_, comment)| comment).collect()
    }

    /// The text as it stood at `moment`; `None` if nothing of it was seen by then.
    #[must_use]
    pub fn text_at(&self, moment: Timestamp) -> Option<&IssueSnapshot> {
        let until = ..=(moment, u64::MAX);
        self.snapshots.range(until).next_back().map(|(_, snapshot)| snapshot.as_ref())
    }

    /// The labels last seen. They judge the issue and never enter a prompt, so later is better.
    #[must_use]
    pub fn last_labels(&self) -> &[String] {
        self.snapshots.last_key_value().map_or(&[], |(_, snapshot)| &snapshot.labels)
    }
}
