//! Columns back to events.

use arrow::array::{
    Array, AsArray, BooleanArray, ListArray, RecordBatch, StringArray, TimestampMillisecondArray,
    UInt64Array,
};
use arrow::datatypes::{TimestampMillisecondType, UInt64Type};

use crate::event::{
    Event, IssueEvent, PullRequestEvent, WireComment, WireEnd, WireIssue, WireLabel,
    WirePullRequest, WireUser,
};
use crate::time::Timestamp;

/// Calls `each` for the event of every row.
///
/// # Panics
/// If the batch lacks a column of [`events_schema`](super::schema::events_schema).
pub(crate) fn events_of(batch: &RecordBatch, mut each: impl FnMut(Event)) {
    let columns = Columns::of(batch);
    (0..batch.num_rows()).for_each(|row| each(columns.event(row)));
}

struct Columns<'a> {
    kind: &'a StringArray,
    repo: &'a StringArray,
    number: &'a UInt64Array,
    at: &'a TimestampMillisecondArray,
    event_id: &'a UInt64Array,
    action: &'a StringArray,
    title: &'a StringArray,
    body: &'a StringArray,
    labels: &'a ListArray,
    author: &'a StringArray,
    author_type: &'a StringArray,
    created_at: &'a TimestampMillisecondArray,
    merged_at: &'a TimestampMillisecondArray,
    merged: &'a BooleanArray,
    merge_commit: &'a StringArray,
    base: &'a StringArray,
    head: &'a StringArray,
    url: &'a StringArray,
    on_pull_request: &'a BooleanArray,
    comment_id: &'a UInt64Array,
    comment_author: &'a StringArray,
    comment_author_type: &'a StringArray,
    comment_body: &'a StringArray,
}

fn text(column: &StringArray, row: usize) -> Option<String> {
    column.is_valid(row).then(|| column.value(row).to_owned())
}

fn moment(column: &TimestampMillisecondArray, row: usize) -> Option<Timestamp> {
    column.is_valid(row).then(|| Timestamp(column.value(row).div_euclid(1_000)))
}

fn user(login: &StringArray, kind: &StringArray, row: usize) -> Option<WireUser> {
    Some(WireUser { login: text(login, row)?, kind: text(kind, row).unwrap_or_default() })
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Self {
        let column = |name: &str| batch.column_by_name(name).expect("the schema was checked");
        let texts = |name: &str| column(name).as_string::<i32>();
        let numbers = |name: &str| column(name).as_primitive::<UInt64Type>();
        let moments = |name: &str| column(name).as_primitive::<TimestampMillisecondType>();
        Self {
            kind: texts("kind"),
            repo: texts("repo"),
            number: numbers("number"),
            at: moments("at"),
            event_id: numbers("event_id"),
            action: texts("action"),
            title: texts("title"),
            body: texts("body"),
            labels: column("labels").as_list(),
            author: texts("author"),
            author_type: texts("author_type"),
            created_at: moments("created_at"),
            merged_at: moments("merged_at"),
            merged: column("merged").as_boolean(),
            merge_commit: texts("merge_commit"),
            base: texts("base"),
            head: texts("head"),
            url: texts("url"),
            on_pull_request: column("on_pull_request").as_boolean(),
            comment_id: numbers("comment_id"),
            comment_author: texts("comment_author"),
            comment_author_type: texts("comment_author_type"),
            comment_body: texts("comment_body"),
        }
    }

    fn event(&self, row: usize) -> Event {
        let at = moment(self.at, row).unwrap_or_default();
        let event_id = self.event_id.value(row);
        let repo = self.repo.value(row).to_owned();
        let action = self.action.value(row).to_owned();
        if self.kind.value(row) == "pull_request" {
            let pull_request = self.pull_request(row);
            return Event::PullRequest(PullRequestEvent {
                event_id,
                at,
                repo,
                action,
                pull_request,
            });
        }
        let issue = WireIssue {
            number: self.number.value(row),
            title: text(self.title, row),
            body: text(self.body, row),
            labels: self.labels(row),
            html_url: text(self.url, row),
            is_pull_request: self.on_pull_request.value(row),
        };
        let comment = self.comment_id.is_valid(row).then(|| WireComment {
            id: self.comment_id.value(row),
            user: user(self.comment_author, self.comment_author_type, row),
            body: text(self.comment_body, row),
        });
        Event::Issue(IssueEvent { event_id, at, repo, action, issue, comment })
    }

    fn pull_request(&self, row: usize) -> WirePullRequest {
        WirePullRequest {
            number: self.number.value(row),
            title: text(self.title, row),
            body: text(self.body, row),
            user: user(self.author, self.author_type, row),
            created_at: moment(self.created_at, row),
            merged_at: moment(self.merged_at, row),
            merged: self.merged.is_valid(row).then(|| self.merged.value(row)),
            merge_commit_sha: text(self.merge_commit, row),
            labels: self.labels(row),
            base: WireEnd { sha: text(self.base, row).unwrap_or_default() },
            head: WireEnd { sha: text(self.head, row).unwrap_or_default() },
        }
    }

    fn labels(&self, row: usize) -> Option<Vec<WireLabel>> {
        self.labels.is_valid(row).then(|| {
            let names = self.labels.value(row);
            let names = names.as_string::<i32>().iter().flatten();
            names.map(|name| WireLabel { name: name.to_owned() }).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::events_of;
    use crate::event::Event;
    use crate::ingest::rows::{Row, batch};

    /// Through columns and back.
    #[track_caller]
    fn check(lines: &[&str]) {
        let events: Vec<Event> =
            lines.iter().map(|line| Event::from_json(line.as_bytes()).expect(line)).collect();
        let rows: Vec<Row> =
            events.iter().zip(1..).filter_map(|(event, n)| Row::new(event.clone(), n)).collect();
        assert_eq!(rows.len(), lines.len());
        let columns = batch(&rows, "a/2020-01-01-0.json.gz").expect("the columns fit the schema");
        let mut back = Vec::new();
        events_of(&columns, |event| back.push(event));
        assert_eq!(back, events);
    }

    #[test]
    fn events_survive() {
        let full = r#"{"id":"18446744073709551615","type":"PullRequestEvent","repo":{"name":"A/É"},
            "created_at":"2015-01-01T00:00:00-08:00","payload":{"action":"closed","pull_request":{
            "number":7,"title":"t\u0000\n","body":"","user":{"login":"ann","type":"Bot"},
            "created_at":"1969-12-31T23:59:59Z","merged_at":"2016-05-04T12:30:00Z","merged":true,
            "merge_commit_sha":"c","labels":[{"name":"a"},{"name":""}],
            "base":{"sha":"b"},"head":{"sha":"h"}}}}"#;
        let slim = r#"{"id":1,"type":"PullRequestEvent","repo":{"name":"a/b"},
            "created_at":"2025-12-01T00:00:00Z","payload":{"pull_request":{"number":0,
            "base":{"sha":""},"head":{"sha":""}}}}"#;
        let ghost = r#"{"id":"2","type":"PullRequestEvent","repo":{"name":"a/b"},
            "created_at":"2020-01-01T00:00:00Z","payload":{"action":"opened","pull_request":{
            "number":1,"title":"","body":null,"user":{},"labels":[],"merged":false,
            "base":{"sha":"b"},"head":{"sha":"h"}}}}"#;
        let issue = r#"{"id":"3","type":"IssuesEvent","repo":{"name":"a/b"},
            "created_at":"2020-01-01T00:00:00Z","payload":{"action":"opened","issue":{"number":2,
            "title":"x","body":"y","labels":null,"html_url":"https://example.org/2"}}}"#;
        let comment = r#"{"id":"4","type":"IssueCommentEvent","repo":{"name":"a/b"},
            "created_at":"2020-01-01T00:00:00Z","payload":{"action":"created","issue":{"number":2,
            "pull_request":{}},"comment":{"id":9,"user":null,"body":"+1"}}}"#;
        check(&[full, slim, ghost, issue, comment]);
        check(&[comment]);
        check(&[full]);
    }
}
