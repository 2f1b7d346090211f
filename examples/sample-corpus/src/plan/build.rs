//! Draws a repository's files and turns its bugs and noise into a shuffled list of jobs.

use super::timeline::{START, schedule};
use super::tree::{initial_files, manifests};
use super::{Account, Change, FunctionRecord, Issue, Job, JobKind, Plan};
use crate::names::NamePool;
use crate::random::Stream;
use crate::source::{Composer, Package, SourceFile};
use crate::template::Language;
use crate::wording;

/// How many jobs of each kind a repository gets.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) fixes: usize,
    pub(crate) no_issue: usize,
    pub(crate) unmerged: usize,
    pub(crate) features: usize,
    pub(crate) docs: usize,
    pub(crate) lock_files: usize,
    pub(crate) bot_bumps: usize,
    pub(crate) pushes: usize,
}

impl Counts {
    /// Noise on top of `fixes`, one fix in about eight: 12.5 % pull requests and 2 % pushes.
    pub(crate) fn for_fixes(fixes: usize) -> Self {
        let part = |per_mille: usize| (fixes * per_mille).div_ceil(1000);
        Self {
            fixes,
            no_issue: part(20),
            unmerged: part(25),
            features: part(25),
            docs: part(15),
            lock_files: part(15),
            bot_bumps: part(25),
            pushes: part(20),
        }
    }

    /// The number of jobs.
    pub(crate) fn total(&self) -> usize {
        self.fixes
            + self.no_issue
            + self.unmerged
            + self.features
            + self.docs
            + self.lock_files
            + self.bot_bumps
            + self.pushes
    }
}

/// A place in the order of jobs.
#[derive(Clone, Copy)]
enum Slot {
    /// The next bug of a file.
    Fix(usize),
    /// A rejected fix of a file's next bug.
    Attempt(usize),
    Feature,
    Docs,
    LockFile,
    BotBump,
    Push,
}

/// The plan of one repository: a pure function of its arguments and the names taken so far.
pub(crate) fn build(
    language: Language,
    held_out: bool,
    counts: Counts,
    slot: i64,
    stream: &mut Stream,
    pool: &mut NamePool,
) -> Plan {
    let mut builder = Builder::new(language, counts, stream, pool);
    for slot in builder.slots(counts) {
        builder.job(slot);
    }
    let Builder { name, packages, files, people, initial, added, mut jobs, mut issues, .. } =
        builder;
    schedule(&mut jobs, &mut issues, slot, stream);
    for job in &mut jobs {
        if let Some(issue) = job.issue {
            let link = wording::closing(issues[issue].number, stream);
            job.body = if job.body.is_empty() { link } else { format!("{}\n\n{link}", job.body) };
        }
    }
    let end = jobs.last().map_or(START, |job| job.closed);
    let stars = (0..counts.fixes / 10 + 1)
        .map(|_| (stream.pick(&people).clone(), stream.seconds(START, end + 1)))
        .collect();
    let mut plan = Plan {
        held_out,
        language,
        created: START,
        owner: people[0].clone(),
        initial,
        stars,
        functions: added,
        sources: Vec::new(),
        source_files: files.len(),
        name,
        jobs,
        issues,
    };
    for function in files.iter().flat_map(|file| &file.file.functions) {
        plan.functions.extend(function.records(language));
    }
    for file in &files {
        plan.sources.push(file.file.text(&[]));
        plan.sources.push(file.text());
    }
    plan.sources.extend(packages.into_iter().map(|package| package.constants.text));
    plan
}

/// A file and what became of it so far.
pub(super) struct Tracked {
    pub(super) file: SourceFile,
    pub(super) package: usize,
    /// Functions whose bug is still to be fixed, in the order of their fixes.
    pub(super) open: Vec<usize>,
    fixed: Vec<usize>,
    /// A function added at the end, or nothing.
    pub(super) added: String,
    /// The issue of the next bug, when an attempt has opened it already.
    issue: Option<usize>,
}

impl Tracked {
    pub(super) fn text(&self) -> String {
        self.file.text(&self.fixed) + &self.added
    }

    fn text_with(&self, function: usize) -> String {
        let mut fixed = self.fixed.clone();
        fixed.push(function);
        self.file.text(&fixed) + &self.added
    }
}

/// A plan in the making.
pub(super) struct Builder<'a> {
    name: String,
    pub(super) language: Language,
    pub(super) composer: Composer,
    pub(super) packages: Vec<Package>,
    pub(super) files: Vec<Tracked>,
    initial: Vec<(String, String)>,
    /// Functions that features added.
    pub(super) added: Vec<FunctionRecord>,
    people: Vec<Account>,
    pub(super) docs: Vec<(String, String)>,
    pub(super) manifest: (String, String),
    pub(super) lock: (String, String),
    pub(super) jobs: Vec<Job>,
    issues: Vec<Issue>,
    unlinked_left: usize,
    fixes_left: usize,
    pub(super) stream: &'a mut Stream,
    pub(super) pool: &'a mut NamePool,
}

impl<'a> Builder<'a> {
    fn new(
        language: Language,
        counts: Counts,
        stream: &'a mut Stream,
        pool: &'a mut NamePool,
    ) -> Self {
        let name = pool.repository(stream);
        let bugs = counts.fixes + counts.no_issue;
        let packages: Vec<Package> =
            (0..(bugs / 80).clamp(2, 8)).map(|_| Package::draw(language, stream, pool)).collect();
        let composer = Composer::new(language);
        let mut files: Vec<Tracked> = Vec::new();
        let mut left = bugs;
        while left > 0 {
            let package = stream.below(packages.len());
            let file = composer.file(&packages[package], left, stream, pool);
            let mut open = file.buggy();
            stream.shuffle(&mut open);
            left -= open.len();
            let added = String::new();
            files.push(Tracked { file, package, open, fixed: Vec::new(), added, issue: None });
        }
        let people =
            (0..12).map(|_| Account { login: pool.login(stream), is_bot: false }).collect();
        let docs: Vec<(String, String)> = (0..4)
            .map(|_| (format!("docs/{}.md", pool.stem(stream)), "# Notes\n\n".to_owned()))
            .collect();
        let (manifest, lock) = manifests(language, &name);
        let mut initial = initial_files(language, &name, &packages, &files);
        initial.extend(docs.iter().cloned());
        Self {
            name,
            language,
            composer,
            packages,
            files,
            initial,
            added: Vec::new(),
            people,
            docs,
            manifest,
            lock,
            jobs: Vec::new(),
            issues: Vec::new(),
            unlinked_left: counts.no_issue,
            fixes_left: bugs,
            stream,
            pool,
        }
    }

    /// The order of all jobs. An attempt comes somewhere before the fix of the same file.
    fn slots(&mut self, counts: Counts) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::with_capacity(counts.total());
        for (index, file) in self.files.iter().enumerate() {
            slots.extend(file.open.iter().map(|_| Slot::Fix(index)));
        }
        for (count, slot) in [
            (counts.features, Slot::Feature),
            (counts.docs, Slot::Docs),
            (counts.lock_files, Slot::LockFile),
            (counts.bot_bumps, Slot::BotBump),
            (counts.pushes, Slot::Push),
        ] {
            slots.extend(std::iter::repeat_n(slot, count));
        }
        self.stream.shuffle(&mut slots);
        for _ in 0..counts.unmerged {
            let (at, file) = loop {
                let at = self.stream.below(slots.len());
                if let Slot::Fix(file) = slots[at] {
                    break (at, file);
                }
            };
            let before = self.stream.below(at + 1);
            slots.insert(before, Slot::Attempt(file));
        }
        slots
    }

    fn job(&mut self, slot: Slot) {
        match slot {
            Slot::Fix(file) => self.fix(file, true),
            Slot::Attempt(file) => self.fix(file, false),
            Slot::Feature => self.feature(),
            Slot::Docs => self.docs(JobKind::Docs),
            Slot::Push => self.docs(JobKind::Push),
            Slot::LockFile => self.lock_file(),
            Slot::BotBump => self.bot_bump(),
        }
    }

    pub(super) fn person(&mut self) -> Account {
        self.stream.pick(&self.people).clone()
    }

    pub(super) fn open_issue(&mut self, text: wording::Text, labels: Vec<&'static str>) -> usize {
        let author = self.person();
        let comment = self.stream.chance(35).then(|| {
            let author = self.stream.pick(&self.people).clone();
            (author, wording::comment(self.stream), 0)
        });
        let wording::Text { title, body } = text;
        self.issues.push(Issue {
            author,
            number: 0,
            title,
            body,
            labels,
            comment,
            opened: 0,
            closed: None,
        });
        self.issues.len() - 1
    }

    pub(super) fn push(
        &mut self,
        kind: JobKind,
        text: wording::Text,
        branch: String,
        changes: Vec<Change>,
    ) {
        let author = self.person();
        let closer = self.person();
        let wording::Text { title, body } = text;
        self.jobs.push(Job {
            kind,
            author,
            closer,
            number: 0,
            title,
            body,
            branch,
            labels: Vec::new(),
            changes,
            draft: None,
            issue: None,
            opened: 0,
            closed: 0,
            fork: 0,
            tip_at_open: 0,
            tip_at_close: 0,
        });
    }

    /// A fix of the next bug of a file; a rejected one leaves the bug in.
    fn fix(&mut self, file: usize, accepted: bool) {
        let tracked = &self.files[file];
        let next = *tracked.open.last().expect("a slot for every bug");
        let (old, new) = (tracked.text(), tracked.text_with(next));
        let path = tracked.file.path.clone();
        let function = &tracked.file.functions[next];
        let bug = function.bug.as_ref().expect("an open bug is planted");
        let kind = bug.kind;
        let branch = format!("fix-{}", function.name.replace('_', "-"));
        let issue_text = wording::bug_issue(&function.name, &path, &bug.wordings, self.stream);
        let pull_text = wording::fix_pull(&function.name, &path, &bug.wordings, self.stream);
        let known = self.files[file].issue;
        // Each fix left is one of the unlinked ones with the same chance.
        let unlinked = accepted && self.stream.below(self.fixes_left) < self.unlinked_left;
        let issue = if unlinked {
            self.unlinked_left -= 1;
            None
        } else {
            let labels = if self.stream.chance(80) { vec!["bug"] } else { Vec::new() };
            Some(known.unwrap_or_else(|| self.open_issue(issue_text, labels)))
        };
        let draft = self.stream.chance(12).then(|| draft(self.language, &old, &new)).flatten();
        if accepted {
            self.fixes_left -= 1;
            let tracked = &mut self.files[file];
            tracked.open.pop();
            tracked.fixed.push(next);
            tracked.issue = None;
        } else {
            self.files[file].issue = issue;
        }
        let job_kind = match (accepted, unlinked) {
            (false, _) => JobKind::Unmerged,
            (true, true) => JobKind::NoIssue,
            (true, false) => JobKind::Fix(kind),
        };
        self.push(job_kind, pull_text, branch, vec![Change { path, old, new }]);
        let job = self.jobs.last_mut().expect("just pushed");
        job.issue = issue;
        job.draft = draft;
    }
}

/// The text after the first of two commits: the fix with a comment that the second removes.
fn draft(language: Language, old: &str, new: &str) -> Option<String> {
    let at = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    let line = new.lines().nth(at)?;
    let indent = &line[..line.len() - line.trim_start().len()];
    let mark = match language {
        Language::Python => "#",
        Language::Rust => "//",
    };
    let mut draft = String::new();
    for (index, line) in new.lines().enumerate() {
        if index == at {
            draft += &format!("{indent}{mark} changed\n");
        }
        draft += &format!("{line}\n");
    }
    Some(draft)
}
