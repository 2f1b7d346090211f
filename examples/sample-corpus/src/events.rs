//! A plan as GH Archive events: one JSON object each, with the field layout of the public archive.
//!
//! Written are PullRequestEvent, IssuesEvent, IssueCommentEvent, PushEvent, CreateEvent, DeleteEvent
//! and WatchEvent. Keys are sorted. Events of one second keep the order in which they are made
//! here.

mod payload;

use serde_json::{Value, json};

use crate::history::{Commits, commit_message, email, merge_message};
use crate::plan::{Account, Job, JobKind, Plan};
pub(crate) use payload::civil;
use payload::{Context, State, number_of, stamp};

/// An event before it has its number in the archive: its text on both sides of that number.
pub(crate) struct Event {
    /// Seconds since 1970.
    pub(crate) time: i64,
    head: String,
    tail: String,
}

impl Event {
    fn new(time: i64, kind: &str, actor: &Value, repo: &Value, payload: &Value) -> Self {
        let (kind, created_at) = (json!(kind), json!(stamp(time)));
        Self {
            time,
            head: format!(r#"{{"actor":{actor},"created_at":{created_at},"id":""#),
            tail: format!(r#"","payload":{payload},"public":true,"repo":{repo},"type":{kind}}}"#),
        }
    }

    /// The line of the archive for the event with number `id`, with its newline.
    pub(crate) fn line(&self, id: u64) -> String {
        format!("{}{id}{}\n", self.head, self.tail)
    }
}

/// All events of a repository, by time.
pub(crate) fn events(plan: &Plan, commits: &Commits) -> Vec<Event> {
    let mut list = List { plan, context: Context::new(plan), events: Vec::new() };
    list.create(&plan.owner, plan.created, "main");
    for (account, time) in &plan.stars {
        list.add(*time, "WatchEvent", account, &json!({"action": "started"}));
    }
    list.issues();
    for (index, job) in plan.jobs.iter().enumerate() {
        if job.kind == JobKind::Push {
            let message = commit_message(job);
            list.push(
                &job.author,
                job.closed,
                "main",
                &commits.main[job.tip_at_close],
                &[(&commits.heads[index], &job.author, message)],
            );
        } else {
            list.pull_request(index, job, commits);
        }
    }
    let mut events = list.events;
    events.sort_by_key(|event| event.time);
    events
}

struct List<'a> {
    plan: &'a Plan,
    context: Context<'a>,
    events: Vec<Event>,
}

impl List<'_> {
    fn add(&mut self, time: i64, kind: &str, actor: &Account, payload: &Value) {
        let actor = self.context.actor(actor);
        let repo = self.context.repo();
        self.events.push(Event::new(time, kind, &actor, &repo, payload));
    }

    fn create(&mut self, account: &Account, time: i64, branch: &str) {
        let payload = json!({
            "ref": branch,
            "ref_type": "branch",
            "master_branch": "main",
            "description": null,
            "pusher_type": "user",
        });
        self.add(time, "CreateEvent", account, &payload);
    }

    fn issues(&mut self) {
        for issue in &self.plan.issues {
            let body = self.context.issue(issue, State::Opened);
            self.add(
                issue.opened,
                "IssuesEvent",
                &issue.author,
                &json!({
                    "action": "opened",
                    "issue": body,
                }),
            );
            if let Some((author, text, time)) = &issue.comment {
                let state = if issue.closed.is_some_and(|closed| closed <= *time) {
                    State::Closed
                } else {
                    State::Opened
                };
                let payload = json!({
                    "action": "created",
                    "issue": self.context.issue(issue, state),
                    "comment": self.context.comment(issue, author, text, *time),
                });
                self.add(*time, "IssueCommentEvent", author, &payload);
            }
            if let Some(closed) = issue.closed {
                let body = self.context.issue(issue, State::Closed);
                self.add(
                    closed,
                    "IssuesEvent",
                    &issue.author,
                    &json!({
                        "action": "closed",
                        "issue": body,
                    }),
                );
            }
        }
    }

    fn pull_request(&mut self, index: usize, job: &Job, commits: &Commits) {
        let head = &commits.heads[index];
        if !job.author.is_bot {
            self.create(&job.author, job.opened - 30, &job.branch);
        }
        for (state, action, actor, time, base, merge) in [
            (State::Opened, "opened", &job.author, job.opened, job.tip_at_open, None),
            (
                State::Closed,
                "closed",
                &job.closer,
                job.closed,
                job.tip_at_close,
                commits.merges[index].as_deref(),
            ),
        ] {
            let pull = self.context.pull_request(job, state, head, &commits.main[base], merge);
            self.add(
                time,
                "PullRequestEvent",
                actor,
                &json!({
                    "action": action,
                    "number": job.number,
                    "pull_request": pull,
                }),
            );
        }
        if let Some(merge) = &commits.merges[index] {
            let base = &commits.main[job.tip_at_close];
            self.push(
                &job.closer,
                job.closed,
                "main",
                base,
                &[
                    (head, &job.author, commit_message(job)),
                    (merge, &job.closer, merge_message(job)),
                ],
            );
            let payload = json!({"ref": job.branch, "ref_type": "branch", "pusher_type": "user"});
            self.add(job.closed + 2, "DeleteEvent", &job.author, &payload);
        }
    }

    fn push(
        &mut self,
        account: &Account,
        time: i64,
        branch: &str,
        before: &str,
        pushed: &[(&String, &Account, String)],
    ) {
        let commits: Vec<Value> = pushed
            .iter()
            .map(|(name, author, message)| {
                json!({
                    "sha": name,
                    "author": {"email": email(author), "name": author.login},
                    "message": message.trim_end(),
                    "distinct": true,
                    "url": format!("{}/commits/{name}", self.context.url()),
                })
            })
            .collect();
        let last = pushed.last().map_or(before, |(name, ..)| name.as_str());
        let payload = json!({
            "repository_id": self.context.id(),
            "push_id": number_of(&["push", last]),
            "size": commits.len(),
            "distinct_size": commits.len(),
            "ref": format!("refs/heads/{branch}"),
            "head": last,
            "before": before,
            "commits": commits,
        });
        self.add(time, "PushEvent", account, &payload);
    }
}
