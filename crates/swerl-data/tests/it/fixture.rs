//! Small repositories and event files in temporary folders.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use swerl_data::{ContextFile, FileRole, IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample};
use tempfile::TempDir;

/// A work tree with a clock of its own: one commit a minute from 2020-01-01 on.
pub(crate) struct TestRepo {
    pub(crate) dir: TempDir,
    minute: Cell<u32>,
}

impl TestRepo {
    pub(crate) fn new() -> Self {
        let repo = Self::at(TempDir::new().unwrap());
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// A repository that is there already.
    pub(crate) fn at(dir: TempDir) -> Self {
        Self { dir, minute: Cell::new(0) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    pub(crate) fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let date = format!("{} +0000", 1_577_836_800 + 60 * self.minute.get());
        let mut child = Command::new("git")
            .current_dir(self.path())
            .args([
                "-c",
                "user.name=Ann",
                "-c",
                "user.email=ann@example.org",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.path().join(path)).unwrap();
        self
    }

    /// Commits everything; gives the commit's id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.minute.set(self.minute.get() + 1);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--no-verify", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes a branch at `from` and goes there.
    pub(crate) fn branch(&self, name: &str, from: &str) -> &Self {
        self.git(&["checkout", "--quiet", "-b", name, from]);
        self
    }

    pub(crate) fn checkout(&self, name: &str) -> &Self {
        self.git(&["checkout", "--quiet", name]);
        self
    }

    /// Merges branches into the present one; gives the merge commit's id.
    pub(crate) fn merge(&self, names: &[&str], message: &str) -> String {
        self.minute.set(self.minute.get() + 1);
        let mut arguments = vec!["merge", "--quiet", "--no-ff", "--no-verify", "-m", message];
        arguments.extend(names);
        self.git(&arguments);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Writes events as one gzip file.
pub(crate) fn write_events(path: &Path, events: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut out = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    for event in events {
        writeln!(out, "{event}").unwrap();
    }
    out.finish().unwrap();
}

fn event(id: u64, kind: &str, at: &str, payload: &Value) -> Value {
    json!({
        "id": id.to_string(), "type": kind, "public": true, "created_at": at,
        "actor": {"id": 1, "login": "ann", "url": "https://api.github.com/users/ann"},
        "repo": {"id": 2, "name": "acme/tool", "url": "https://api.github.com/repos/acme/tool"},
        "payload": payload,
    })
}

/// An issue's event: opened, or a comment on it.
pub(crate) fn issue(
    id: u64,
    at: &str,
    number: u64,
    title: &str,
    body: &str,
    labels: &[&str],
) -> Value {
    let labels: Vec<Value> =
        labels.iter().map(|name| json!({"name": name, "color": "fff"})).collect();
    let url = format!("https://github.com/acme/tool/issues/{number}");
    let issue = json!({
        "number": number, "title": title, "body": body, "labels": labels, "state": "open",
        "html_url": url, "user": {"login": "bob", "type": "User"}, "created_at": at,
    });
    event(id, "IssuesEvent", at, &json!({"action": "opened", "issue": issue}))
}

/// A comment on an issue, as the event `created`, `edited` or `deleted`.
pub(crate) fn comment(
    id: u64,
    at: &str,
    number: u64,
    (comment, action): (u64, &str),
    user: &Value,
    body: &str,
) -> Value {
    let mut wrapped = issue(id, at, number, "Wrong total", "It is one too many.", &["bug"]);
    wrapped["type"] = json!("IssueCommentEvent");
    wrapped["payload"]["action"] = json!(action);
    wrapped["payload"]["comment"] = json!({"id": comment, "user": user, "body": body});
    wrapped
}

/// A pull request, for [`pull_events`].
#[derive(Clone)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) user: Value,
    pub(crate) created: String,
    pub(crate) merged: Option<String>,
    pub(crate) base: String,
    pub(crate) head: String,
    pub(crate) merge: Option<String>,
}

impl Pull {
    pub(crate) fn new(number: u64, base: &str, head: &str, merge: &str) -> Self {
        Self {
            number,
            title: "Fix the sum".to_owned(),
            body: "Fixes #1".to_owned(),
            user: json!({"login": "ann", "type": "User"}),
            created: "2020-02-01T00:00:00Z".to_owned(),
            merged: Some(format!("2020-02-02T00:{number:02}:00Z")),
            base: base.to_owned(),
            head: head.to_owned(),
            merge: Some(merge.to_owned()),
        }
    }
}

/// The events `opened` and `closed` of a pull request.
pub(crate) fn pull_events(id: u64, pull: &Pull) -> Vec<Value> {
    let wire = |closed: bool| {
        let merged = pull.merged.as_ref().filter(|_| closed);
        json!({
            "id": 5, "number": pull.number, "state": if closed { "closed" } else { "open" },
            "title": pull.title, "body": pull.body, "user": pull.user,
            "created_at": pull.created, "merged_at": merged, "merged": merged.is_some(),
            "merge_commit_sha": pull.merge, "labels": [],
            "base": {"ref": "main", "sha": pull.base, "repo": {"id": 2}},
            "head": {"ref": "fix", "sha": pull.head, "repo": null},
        })
    };
    let closed_at = pull.merged.clone().unwrap_or_else(|| "2020-02-03T00:00:00Z".to_owned());
    let payload = |action: &str| json!({"action": action, "number": pull.number, "pull_request": wire(action == "closed")});
    vec![
        event(id, "PullRequestEvent", &pull.created, &payload("opened")),
        event(id + 1, "PullRequestEvent", &closed_at, &payload("closed")),
    ]
}

/// A valid seed.
pub(crate) fn seed(repo: &str, number: u64) -> SeedExample {
    SeedExample {
        version: SEED_SCHEMA_VERSION,
        id: format!("{repo}#{number}"),
        repo: repo.to_owned(),
        pull_request: number,
        base_commit: "a".repeat(40),
        head_commit: "b".repeat(40),
        merge_commit: None,
        merged_at: Some("2020-01-01T00:00:00Z".to_owned()),
        title: "Fix".to_owned(),
        body: String::new(),
        issue: IssueText {
            number: Some(1),
            title: "It breaks".to_owned(),
            body: "Always.\u{2028}\"\n".to_owned(),
            url: None,
            source: IssueSource::LinkedIssue,
        },
        files: vec![
            ContextFile { path: "a.py".to_owned(), role: FileRole::Edit, text: "x\n".to_owned() },
            ContextFile {
                path: "b.py".to_owned(),
                role: FileRole::Relevant,
                text: "y\n".to_owned(),
            },
        ],
        oracle: BTreeMap::from([("a.py".to_owned(), "z\n".to_owned())]),
    }
}

/// Paths and roles of a seed's files.
pub(crate) fn roles(seed: &SeedExample) -> Vec<(&str, FileRole)> {
    seed.files.iter().map(|file| (file.path.as_str(), file.role)).collect()
}

/// All files below a folder, with their contents.
pub(crate) fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(snapshot(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
