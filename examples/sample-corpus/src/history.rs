//! A plan as commits: the stream for `git fast-import`, and the commits it made.
//!
//! The main branch is a line of commits, each a merge of a pull request (first parent main, second
//! parent the branch) or a direct push. Every pull request's head is kept as `refs/pull/N/head`.

use crate::plan::{Account, Job, JobKind, Plan};

const MAIN: &str = "refs/heads/main";
const BRANCH: &str = "refs/heads/branch";

/// A history in the form `git fast-import` reads.
pub(crate) struct History {
    pub(crate) stream: Vec<u8>,
    /// How many commits there are, marked 1, 2, ...
    pub(crate) marks: usize,
    /// References to keep besides the main branch, with their marks.
    pub(crate) references: Vec<(String, usize)>,
    /// Marks of the main branch, oldest first.
    main: Vec<usize>,
    /// Mark of each job's head; that of the pushed commit for a push.
    heads: Vec<usize>,
    /// Mark of each job's merge commit, where there is one.
    merges: Vec<Option<usize>>,
}

/// Commit names, by what they are.
pub(crate) struct Commits {
    /// The main branch, oldest first.
    pub(crate) main: Vec<String>,
    /// Each job's head.
    pub(crate) heads: Vec<String>,
    /// Each job's merge commit.
    pub(crate) merges: Vec<Option<String>>,
}

impl History {
    /// The names of all commits, given those of the marks from 1 on.
    pub(crate) fn commits(&self, marked: &[String]) -> Commits {
        let name = |&mark: &usize| marked[mark - 1].clone();
        Commits {
            main: self.main.iter().map(name).collect(),
            heads: self.heads.iter().map(name).collect(),
            merges: self.merges.iter().map(|mark| mark.as_ref().map(name)).collect(),
        }
    }
}

/// A fixed address for an account.
pub(crate) fn email(account: &Account) -> String {
    format!("{}@users.example.org", account.login.replace(['[', ']'], "-"))
}

struct Writer {
    stream: Vec<u8>,
    marks: usize,
}

impl Writer {
    fn commit(
        &mut self,
        reference: &str,
        author: &Account,
        time: i64,
        message: &str,
        parents: &[usize],
        files: &[(&str, &str)],
    ) -> usize {
        self.marks += 1;
        let (login, email, mark) = (&author.login, email(author), self.marks);
        let mut text = format!(
            "commit {reference}\nmark :{mark}\n\
             author {login} <{email}> {time} +0000\n\
             committer {login} <{email}> {time} +0000\n\
             data {}\n{message}\n",
            message.len()
        );
        for (index, parent) in parents.iter().enumerate() {
            let word = if index == 0 { "from" } else { "merge" };
            text += &format!("{word} :{parent}\n");
        }
        for (path, content) in files {
            text += &format!("M 100644 inline {path}\ndata {}\n{content}\n", content.len());
        }
        text += "\n";
        self.stream.extend_from_slice(text.as_bytes());
        mark
    }
}

/// The message of the merge commit of a pull request.
pub(crate) fn merge_message(job: &Job) -> String {
    let Job { number, title, branch, .. } = job;
    format!("Merge pull request #{number} from {}/{branch}\n\n{title}\n", job.author.login)
}

/// The message of a pushed commit or of the last commit of a branch.
pub(crate) fn commit_message(job: &Job) -> String {
    match &job.draft {
        Some(_) => "Remove a comment\n".to_owned(),
        None => format!("{}\n", job.title),
    }
}

/// Writes the history of a repository.
pub(crate) fn history(plan: &Plan) -> History {
    let mut writer = Writer { stream: Vec::new(), marks: 0 };
    let initial: Vec<(&str, &str)> =
        plan.initial.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let root = writer.commit(MAIN, &plan.owner, plan.created, "First files\n", &[], &initial);
    let (mut main, mut heads, mut merges) = (vec![root], Vec::new(), Vec::new());
    let mut references = Vec::new();
    for job in &plan.jobs {
        let files: Vec<(&str, &str)> =
            job.changes.iter().map(|change| (change.path.as_str(), change.new.as_str())).collect();
        let tip = *main.last().expect("there is a root commit");
        let message = commit_message(job);
        if job.kind == JobKind::Push {
            let mark = writer.commit(MAIN, &job.author, job.closed, &message, &[tip], &files);
            main.push(mark);
            heads.push(mark);
            merges.push(None);
            continue;
        }
        let mut parent = main[job.fork];
        if let Some(draft) = &job.draft {
            let files = [(job.changes[0].path.as_str(), draft.as_str())];
            let message = format!("{}\n", job.title);
            parent = writer.commit(BRANCH, &job.author, job.opened, &message, &[parent], &files);
        }
        let head = writer.commit(BRANCH, &job.author, job.opened, &message, &[parent], &files);
        heads.push(head);
        references.push((format!("refs/pull/{}/head", job.number), head));
        let merge = job.kind.lands().then(|| {
            let message = merge_message(job);
            writer.commit(MAIN, &job.closer, job.closed, &message, &[tip, head], &files)
        });
        main.extend(merge);
        merges.push(merge);
    }
    let Writer { mut stream, marks } = writer;
    // The branches were one scratch reference, which is dropped; their names come afterwards.
    let none = "0".repeat(40);
    stream.extend_from_slice(format!("reset {BRANCH}\nfrom {none}\n\ndone\n").as_bytes());
    History { stream, marks, references, main, heads, merges }
}
