//! The JSON objects inside events: accounts, repositories, issues, comments and pull requests.
//!
//! Field names and nesting are those of GitHub's REST API as GH Archive keeps them. Numbers that
//! GitHub would assign are hashes of names, stable and below 2^31.

use serde_json::{Value, json};

use crate::plan::{Account, Issue, Job, Plan};
use crate::random::mix;

/// Which of its two events an object is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Opened,
    Closed,
}

/// A stable number below 2^31 for a name made of parts.
pub(super) fn number_of(parts: &[&str]) -> u64 {
    let hash = parts.iter().fold(0, |hash, part| {
        part.bytes().fold(mix(hash ^ 0xff), |hash, byte| mix(hash ^ u64::from(byte)))
    });
    1 + hash % ((1 << 31) - 1)
}

/// `YYYY-MM-DDTHH:MM:SSZ`.
pub(super) fn stamp(time: i64) -> String {
    let (year, month, day) = civil(time.div_euclid(86_400));
    let second = time.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day number since 1970-01-01 (Howard Hinnant's civil-from-days).
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

const API: &str = "https://api.github.com";
const WEB: &str = "https://github.com";

/// A repository's objects.
pub(super) struct Context<'a> {
    plan: &'a Plan,
    /// The repository object inside `head` and `base`; the same in every event.
    repository: Value,
}

impl<'a> Context<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut context = Self { plan, repository: Value::Null };
        context.repository = context.full_repository();
        context
    }

    pub(super) fn id(&self) -> u64 {
        number_of(&["repository", &self.plan.name])
    }

    /// The repository's address in the API.
    pub(super) fn url(&self) -> String {
        format!("{API}/repos/{}", self.plan.name)
    }

    pub(super) fn repo(&self) -> Value {
        json!({"id": self.id(), "name": self.plan.name, "url": self.url()})
    }

    fn owner(&self) -> Account {
        let login = self.plan.name.split('/').next().unwrap_or_default().to_owned();
        Account { login, is_bot: false }
    }

    fn full_repository(&self) -> Value {
        let name = &self.plan.name;
        json!({
            "id": self.id(),
            "node_id": format!("R_{}", self.id()),
            "name": name.rsplit('/').next(),
            "full_name": name,
            "private": false,
            "owner": self.user(&self.owner()),
            "html_url": format!("{WEB}/{name}"),
            "description": null,
            "fork": false,
            "url": self.url(),
            "created_at": stamp(self.plan.created),
            "clone_url": format!("{WEB}/{name}.git"),
            "language": self.plan.language.name(),
            "archived": false,
            "visibility": "public",
            "default_branch": "main",
        })
    }

    pub(super) fn actor(&self, account: &Account) -> Value {
        let id = number_of(&["user", &account.login]);
        json!({
            "id": id,
            "login": account.login,
            "display_login": account.login.trim_end_matches("[bot]"),
            "gravatar_id": "",
            "url": format!("{API}/users/{}", account.login),
            "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?"),
        })
    }

    fn user(&self, account: &Account) -> Value {
        let id = number_of(&["user", &account.login]);
        let login = &account.login;
        json!({
            "login": login,
            "id": id,
            "node_id": format!("U_{id}"),
            "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
            "gravatar_id": "",
            "url": format!("{API}/users/{login}"),
            "html_url": format!("{WEB}/{login}"),
            "type": if account.is_bot { "Bot" } else { "User" },
            "site_admin": false,
        })
    }

    fn labels(&self, names: &[&str]) -> Value {
        let label = |name: &&str| {
            let id = number_of(&["label", &self.plan.name, name]);
            json!({
                "id": id,
                "node_id": format!("LA_{id}"),
                "url": format!("{}/labels/{name}", self.url()),
                "name": name,
                "color": "d73a4a",
                "default": true,
                "description": null,
            })
        };
        names.iter().map(label).collect()
    }

    pub(super) fn issue(&self, issue: &Issue, state: State) -> Value {
        let number = issue.number;
        let id = number_of(&["issue", &self.plan.name, &number.to_string()]);
        let url = format!("{}/issues/{number}", self.url());
        let closed = issue.closed.filter(|_| state == State::Closed);
        json!({
            "url": url,
            "repository_url": self.url(),
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "timeline_url": format!("{url}/timeline"),
            "html_url": format!("{WEB}/{}/issues/{number}", self.plan.name),
            "id": id,
            "node_id": format!("I_{id}"),
            "number": number,
            "title": issue.title,
            "user": self.user(&issue.author),
            "labels": self.labels(&issue.labels),
            "state": if closed.is_some() { "closed" } else { "open" },
            "state_reason": closed.map(|_| "completed"),
            "locked": false,
            "assignee": null,
            "assignees": [],
            "milestone": null,
            "comments": u8::from(closed.is_some() && issue.comment.is_some()),
            "created_at": stamp(issue.opened),
            "updated_at": stamp(closed.unwrap_or(issue.opened)),
            "closed_at": closed.map(stamp),
            "author_association": "NONE",
            "active_lock_reason": null,
            "body": issue.body,
            "performed_via_github_app": null,
        })
    }

    pub(super) fn comment(&self, issue: &Issue, author: &Account, text: &str, time: i64) -> Value {
        let number = issue.number.to_string();
        let id = number_of(&["comment", &self.plan.name, &number]);
        let url = format!("{}/issues", self.url());
        json!({
            "url": format!("{url}/comments/{id}"),
            "html_url": format!("{WEB}/{}/issues/{number}#issuecomment-{id}", self.plan.name),
            "issue_url": format!("{url}/{number}"),
            "id": id,
            "node_id": format!("IC_{id}"),
            "user": self.user(author),
            "created_at": stamp(time),
            "updated_at": stamp(time),
            "author_association": "CONTRIBUTOR",
            "body": text,
            "performed_via_github_app": null,
        })
    }

    fn side(&self, branch: &str, commit: &str) -> Value {
        let owner = self.owner();
        json!({
            "label": format!("{}:{branch}", owner.login),
            "ref": branch,
            "sha": commit,
            "user": self.user(&owner),
            "repo": self.repository,
        })
    }

    /// The pull request of a job; `base` is the main branch's tip at that time.
    pub(super) fn pull_request(
        &self,
        job: &Job,
        state: State,
        head: &str,
        base: &str,
        merge: Option<&str>,
    ) -> Value {
        let number = job.number;
        let id = number_of(&["pull", &self.plan.name, &number.to_string()]);
        let url = format!("{}/pulls/{number}", self.url());
        let html = format!("{WEB}/{}/pull/{number}", self.plan.name);
        let issue = format!("{}/issues/{number}", self.url());
        let is_closed = state == State::Closed;
        let closed = is_closed.then(|| stamp(job.closed));
        let merged_at = merge.map(|_| stamp(job.closed));
        let counts = job.changes.iter().map(super::super::plan::Change::line_counts);
        let (added, deleted) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        // A closed pull request keeps the name of its last trial merge, which no clone has.
        let trial = format!("{:016x}{:016x}{:08x}", mix(id), mix(id ^ 1), id);
        let merge_commit = merge.map(str::to_owned).or(is_closed.then_some(trial));
        json!({
            "url": url,
            "id": id,
            "node_id": format!("PR_{id}"),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "issue_url": issue,
            "number": number,
            "state": if is_closed { "closed" } else { "open" },
            "locked": false,
            "title": job.title,
            "user": self.user(&job.author),
            "body": if job.body.is_empty() { Value::Null } else { json!(job.body) },
            "created_at": stamp(job.opened),
            "updated_at": closed.clone().unwrap_or_else(|| stamp(job.opened)),
            "closed_at": closed,
            "merged_at": merged_at,
            "merge_commit_sha": merge_commit,
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": self.labels(&job.labels),
            "milestone": null,
            "draft": false,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{}/pulls/comments{{/number}}", self.url()),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": format!("{}/statuses/{head}", self.url()),
            "head": self.side(&job.branch, head),
            "base": self.side("main", base),
            "_links": {
                "self": {"href": url},
                "html": {"href": html},
                "issue": {"href": issue},
            },
            "author_association": if job.author.is_bot { "NONE" } else { "CONTRIBUTOR" },
            "auto_merge": null,
            "active_lock_reason": null,
            "merged": merge.is_some(),
            "mergeable": null,
            "rebaseable": null,
            "mergeable_state": "unknown",
            "merged_by": merge.map(|_| self.user(&job.closer)),
            "comments": 0,
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": 1 + usize::from(job.draft.is_some()),
            "additions": added,
            "deletions": deleted,
            "changed_files": job.changes.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_utc() {
        for (time, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_510_399, "2024-03-03T23:59:59Z"),
            (1_709_510_400, "2024-03-04T00:00:00Z"),
        ] {
            assert_eq!(stamp(time), want);
        }
    }
}
