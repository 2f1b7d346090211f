//! The jobs a curator must drop: features, documentation, lock files and bots' version bumps.

use super::build::Builder;
use super::tree::{DEPENDENCIES, replace_version};
use super::{Account, Change, JobKind};
use crate::names::{Length, word};
use crate::source::{Function, MAX_LINES};
use crate::wording;

impl Builder<'_> {
    /// A new function at the end of a file; a change of documentation when no file can take one.
    pub(super) fn feature(&mut self) {
        let Some((file, function, code)) = self.place_feature() else {
            return self.docs(JobKind::Docs);
        };
        self.added.extend(function.records(self.language));
        let name = function.name;
        let path = self.files[file].file.path.clone();
        let old = self.files[file].text();
        self.files[file].added += &code;
        let new = self.files[file].text();
        let issue = wording::feature_issue(&name, &path, self.stream);
        let issue = self.open_issue(issue, vec!["enhancement"]);
        let text = wording::Text { title: format!("Add `{name}`"), body: String::new() };
        let branch = format!("add-{}", name.replace('_', "-"));
        self.push(JobKind::Feature, text, branch, vec![Change { path, old, new }]);
        let job = self.jobs.last_mut().expect("just pushed");
        job.issue = Some(issue);
        job.labels = vec!["enhancement"];
    }

    /// A file with room for a new function, or with no bug left, and the function and its text.
    fn place_feature(&mut self) -> Option<(usize, Function, String)> {
        for _ in 0..60 {
            let file = self.stream.below(self.files.len());
            let package = &self.packages[self.files[file].package];
            let (function, code) = self.composer.feature(package, self.stream, self.pool);
            let tracked = &self.files[file];
            let longest = [&[][..], &tracked.file.buggy()]
                .map(|fixed| tracked.file.text(fixed).lines().count())
                .into_iter()
                .max()?;
            let added = tracked.added.lines().count() + code.lines().count();
            if tracked.open.is_empty() || longest + added <= MAX_LINES {
                return Some((file, function, code));
            }
            function.release(self.pool);
        }
        None
    }

    pub(super) fn docs(&mut self, kind: JobKind) {
        let first = word(self.stream, Length::Free);
        let second = word(self.stream, Length::Free);
        let line = wording::doc_line(first, second, self.stream);
        let file = self.stream.below(self.docs.len());
        let (path, text) = &mut self.docs[file];
        let (path, old) = (path.clone(), text.clone());
        text.push_str(&line);
        let new = text.clone();
        let title = format!("Describe the {first} in {path}");
        let pull = wording::Text { title, body: String::new() };
        let issue = (kind == JobKind::Docs).then(|| {
            let title = format!("Documentation: say more about the {first}");
            let body = format!("`{path}` does not say how {first} and {second} belong together.");
            self.open_issue(wording::Text { title, body }, vec!["documentation"])
        });
        let branch = format!("docs-{first}-{second}");
        self.push(kind, pull, branch, vec![Change { path, old, new }]);
        let job = self.jobs.last_mut().expect("just pushed");
        job.issue = issue;
    }

    /// Raises a dependency's version in a file of `name version` lines; gives old and new text.
    fn raise_version(&mut self, in_manifest: bool) -> (String, Vec<Change>) {
        let dependency = *self.stream.pick(&DEPENDENCIES);
        let mut changes = Vec::new();
        let mut files = vec![&mut self.lock];
        if in_manifest {
            files.insert(0, &mut self.manifest);
        }
        let version =
            format!("{}.{}.{}", 1 + self.stream.below(5), self.stream.below(30), self.jobs.len());
        for (path, text) in files {
            let new = replace_version(text, dependency, &version);
            changes.push(Change { path: path.clone(), old: text.clone(), new: new.clone() });
            *text = new;
        }
        (format!("{dependency} to {version}"), changes)
    }

    pub(super) fn lock_file(&mut self) {
        let (what, changes) = self.raise_version(false);
        let title = "Refresh the lock file".to_owned();
        let body = format!("Moves {what}.");
        let branch = format!("lock-{}", self.jobs.len());
        let linked = self.stream.chance(50);
        let issue = linked.then(|| {
            let title = "The lock file is out of date".to_owned();
            let body = "A fresh install fails because the lock file is stale.".to_owned();
            self.open_issue(wording::Text { title, body }, vec!["bug"])
        });
        self.push(JobKind::LockFile, wording::Text { title, body }, branch, changes);
        let job = self.jobs.last_mut().expect("just pushed");
        job.issue = issue;
    }

    pub(super) fn bot_bump(&mut self) {
        let (what, changes) = self.raise_version(true);
        let title = format!("Bump {what}");
        let body = format!("Bumps {what}.");
        let branch = format!("dependabot/{}", what.replace(' ', "-"));
        self.push(JobKind::BotBump, wording::Text { title, body }, branch, changes);
        let job = self.jobs.last_mut().expect("just pushed");
        job.author = Account { login: "dependabot[bot]".to_owned(), is_bot: true };
        job.labels = vec!["dependencies"];
    }
}
