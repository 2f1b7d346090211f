//! Events to columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, BooleanBuilder, ListBuilder, RecordBatch, StringArray, StringBuilder,
    TimestampMillisecondBuilder, UInt16Array, UInt64Array,
};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;

use super::schema::{events_schema, repo_hash};
use crate::event::{Event, WireLabel, WireUser};
use crate::time::Timestamp;

/// One kept event and where it stood.
pub(crate) struct Row {
    key: String,
    hash: u16,
    line: u64,
    event: Kept,
}

/// The types that have rows.
enum Kept {
    Pull(Box<crate::event::PullRequestEvent>),
    Issue(Box<crate::event::IssueEvent>),
}

impl Kept {
    fn number(&self) -> u64 {
        match self {
            Self::Pull(event) => event.pull_request.number,
            Self::Issue(event) => event.issue.number,
        }
    }

    fn moment(&self) -> (Timestamp, u64) {
        match self {
            Self::Pull(event) => (event.at, event.event_id),
            Self::Issue(event) => (event.at, event.event_id),
        }
    }

    fn repo(&self) -> &str {
        match self {
            Self::Pull(event) => &event.repo,
            Self::Issue(event) => &event.repo,
        }
    }
}

impl Row {
    /// The row of an event; `None` for types that have none.
    pub(crate) fn new(event: Event, line: u64) -> Option<Self> {
        let event = match event {
            Event::PullRequest(event) => Kept::Pull(Box::new(event)),
            Event::Issue(event) => Kept::Issue(Box::new(event)),
            Event::Other => return None,
        };
        let key = event.repo().to_lowercase();
        Some(Self { hash: repo_hash(&key), key, line, event })
    }

    /// When it happened.
    pub(crate) fn at(&self) -> Timestamp {
        self.event.moment().0
    }

    /// About the memory that it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = match &self.event {
            Kept::Pull(event) => text(&event.pull_request.title) + text(&event.pull_request.body),
            Kept::Issue(event) => {
                let comment = event.comment.as_ref().map_or(0, |comment| text(&comment.body));
                text(&event.issue.title) + text(&event.issue.body) + comment
            }
        };
        texts + 1_024
    }
}

/// Sorts rows so that those of a repository, and of a number in it, stand together.
pub(crate) fn sort(rows: &mut [Row]) {
    let order = |row: &Row| (row.hash, row.event.number(), row.event.moment(), row.line);
    rows.sort_by(|a, b| {
        let ((hash, number, moment, line), other) = (order(a), order(b));
        (hash, &a.key, number, moment, line).cmp(&(other.0, &b.key, other.1, other.2, other.3))
    });
}

fn millis(moment: Timestamp) -> i64 {
    moment.0.saturating_mul(1_000)
}

#[derive(Default)]
struct Moments(TimestampMillisecondBuilder);

impl Moments {
    fn push(&mut self, moment: Option<Timestamp>) {
        self.0.append_option(moment.map(millis));
    }

    fn finish(mut self) -> ArrayRef {
        Arc::new(self.0.finish().with_timezone("UTC"))
    }
}

/// An optional user as two columns; a user without name is not no user.
#[derive(Default)]
struct Users {
    login: StringBuilder,
    kind: StringBuilder,
}

impl Users {
    fn push(&mut self, user: Option<&WireUser>) {
        self.login.append_option(user.map(|user| &user.login));
        self.kind.append_option(user.map(|user| &user.kind));
    }

    fn finish(mut self) -> [ArrayRef; 2] {
        [Arc::new(self.login.finish()), Arc::new(self.kind.finish())]
    }
}

struct Labels(ListBuilder<StringBuilder>);

impl Labels {
    fn new() -> Self {
        let item = Field::new("item", DataType::Utf8, false);
        Self(ListBuilder::new(StringBuilder::new()).with_field(item))
    }

    fn push(&mut self, labels: Option<&[WireLabel]>) {
        for label in labels.unwrap_or_default() {
            self.0.values().append_value(&label.name);
        }
        self.0.append(labels.is_some());
    }
}

/// The columns of rows, in their order.
///
/// # Errors
/// If the texts pass 2 GiB; the caller's limit on memory is far below.
pub(crate) fn batch(rows: &[Row], source: &str) -> Result<RecordBatch, ArrowError> {
    let mut at = Moments::default();
    let (mut created_at, mut merged_at) = (Moments::default(), Moments::default());
    let (mut title, mut body, mut url) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut merge, mut base, mut head) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut users, mut comment_users) = (Users::default(), Users::default());
    let (mut labels, mut merged) = (Labels::new(), BooleanBuilder::new());
    let mut comment_body = StringBuilder::new();
    let (mut kinds, mut actions) = (Vec::new(), Vec::new());
    let (mut comment_ids, mut on_pull) = (Vec::new(), Vec::new());
    for row in rows {
        at.push(Some(row.at()));
        let (issue, comment, pull) = match &row.event {
            Kept::Pull(event) => {
                kinds.push("pull_request");
                actions.push(event.action.as_str());
                (None, None, Some(&event.pull_request))
            }
            Kept::Issue(event) => {
                kinds.push(if event.comment.is_some() { "comment" } else { "issue" });
                actions.push(event.action.as_str());
                (Some(&event.issue), event.comment.as_ref(), None)
            }
        };
        let texts = match (pull, issue) {
            (Some(pull), _) => (&pull.title, &pull.body, pull.labels.as_deref()),
            (None, Some(issue)) => (&issue.title, &issue.body, issue.labels.as_deref()),
            (None, None) => (&None, &None, None),
        };
        title.append_option(texts.0.as_ref());
        body.append_option(texts.1.as_ref());
        labels.push(texts.2);
        users.push(pull.and_then(|pull| pull.user.as_ref()));
        created_at.push(pull.and_then(|pull| pull.created_at));
        merged_at.push(pull.and_then(|pull| pull.merged_at));
        merged.append_option(pull.and_then(|pull| pull.merged));
        merge.append_option(pull.and_then(|pull| pull.merge_commit_sha.as_ref()));
        base.append_option(pull.map(|pull| &pull.base.sha));
        head.append_option(pull.map(|pull| &pull.head.sha));
        url.append_option(issue.and_then(|issue| issue.html_url.as_ref()));
        on_pull.push(issue.is_some_and(|issue| issue.is_pull_request));
        comment_ids.push(comment.map(|comment| comment.id));
        comment_users.push(comment.and_then(|comment| comment.user.as_ref()));
        comment_body.append_option(comment.and_then(|comment| comment.body.as_ref()));
    }
    let numbers = |of: fn(&Row) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(of)))
    };
    let [author, author_type] = users.finish();
    let [comment_author, comment_author_type] = comment_users.finish();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(kinds)),
        Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.hash))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.key))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.event.repo()))),
        numbers(|row| row.event.number()),
        at.finish(),
        numbers(|row| row.event.moment().1),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|_| source))),
        numbers(|row| row.line),
        Arc::new(StringArray::from_iter_values(actions)),
        Arc::new(title.finish()),
        Arc::new(body.finish()),
        Arc::new(labels.0.finish()),
        author,
        author_type,
        created_at.finish(),
        merged_at.finish(),
        Arc::new(merged.finish()),
        Arc::new(merge.finish()),
        Arc::new(base.finish()),
        Arc::new(head.finish()),
        Arc::new(url.finish()),
        Arc::new(BooleanArray::from(on_pull)),
        Arc::new(UInt64Array::from(comment_ids)),
        comment_author,
        comment_author_type,
        Arc::new(comment_body.finish()),
    ];
    RecordBatch::try_new(events_schema(), columns)
}
