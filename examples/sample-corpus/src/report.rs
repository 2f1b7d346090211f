//! What was made: counts, the split, and how new held-out names are; written as `corpus.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::plan::{FunctionRecord, JobKind, Plan};
use crate::template::{Language, templates};

/// Version of `corpus.json`.
pub const CORPUS_SCHEMA_VERSION: u32 = 1;

/// One repository of the corpus.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RepositoryReport {
    /// `owner/name`; its git folder is `repos/owner/name.git`.
    pub name: String,
    /// The language of its source files.
    pub language: Language,
    /// Whether it is for evaluation only.
    pub held_out: bool,
    /// Source files in the first commit, constants aside.
    pub source_files: usize,
    /// Commits of the main branch.
    pub main_commits: usize,
    /// Kind of bug of every merged fix with an issue, by pull request number.
    pub fixes: BTreeMap<u64, String>,
    /// Noise by kind: pull requests, and `direct_push` commits.
    pub noise: BTreeMap<String, usize>,
    /// Merged pull requests whose merge base is not the first parent of the merge.
    pub moved_bases: usize,
    /// Every function and the template it came from.
    pub functions: Vec<FunctionRecord>,
}

/// The whole corpus.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CorpusReport {
    /// The seed it was drawn from.
    pub seed: u64,
    /// The repositories, training ones first.
    pub repositories: Vec<RepositoryReport>,
    /// Merged fixes with an issue: what a curator should keep.
    pub pull_requests: usize,
    /// Those by kind of bug.
    pub kinds: BTreeMap<String, usize>,
    /// Noise by kind over all repositories.
    pub noise: BTreeMap<String, usize>,
    /// Events, and hourly files they are in.
    pub events: usize,
    /// Hourly files.
    pub hours: usize,
    /// Share of the distinct identifiers in held-out source files that no training file has, in
    /// 0..=1. Words every template of the language uses (`len`, `range`, ...) do not count.
    pub unseen_identifier_share: f64,
    /// Share of the functions of held-out repositories whose name no training file has: 1 by
    /// construction.
    pub unseen_function_share: f64,
}

impl RepositoryReport {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut fixes = BTreeMap::new();
        let mut noise = BTreeMap::new();
        for job in &plan.jobs {
            if let JobKind::Fix(kind) = job.kind {
                fixes.insert(job.number, kind.to_owned());
            }
            if let Some(kind) = job.kind.noise() {
                *noise.entry(kind.to_owned()).or_default() += 1;
            }
        }
        let merged = || plan.jobs.iter().filter(|job| job.kind.lands());
        Self {
            name: plan.name.clone(),
            language: plan.language,
            held_out: plan.held_out,
            source_files: plan.source_files,
            main_commits: 1 + merged().count(),
            fixes,
            noise,
            moved_bases: merged()
                .filter(|job| job.kind.has_pull_request() && job.fork != job.tip_at_close)
                .count(),
            functions: plan.functions.clone(),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "language": self.language.name(),
            "split": if self.held_out { "held_out" } else { "train" },
            "source_files": self.source_files,
            "main_commits": self.main_commits,
            "pull_requests": self.fixes.len(),
            "moved_bases": self.moved_bases,
            "noise": self.noise,
            "fixes": self.fixes,
        })
    }
}

/// What the source texts of one side of the split contain.
#[derive(Default)]
pub(crate) struct Side {
    identifiers: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Side {
    pub(crate) fn add(&mut self, plan: &Plan, common: &BTreeSet<String>) {
        for text in &plan.sources {
            let own = identifiers(text).filter(|name| !common.contains(*name));
            self.identifiers.extend(own.map(str::to_owned));
        }
        self.functions.extend(plan.functions.iter().map(|function| function.name.clone()));
    }
}

impl CorpusReport {
    pub(crate) fn new(
        seed: u64,
        repositories: Vec<RepositoryReport>,
        train: &Side,
        held_out: &Side,
    ) -> Self {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        let mut noise: BTreeMap<String, usize> = BTreeMap::new();
        for repository in &repositories {
            for kind in repository.fixes.values() {
                *kinds.entry(kind.clone()).or_default() += 1;
            }
            for (kind, count) in &repository.noise {
                *noise.entry(kind.clone()).or_default() += count;
            }
        }
        Self {
            seed,
            pull_requests: kinds.values().sum(),
            repositories,
            kinds,
            noise,
            events: 0,
            hours: 0,
            unseen_identifier_share: unseen(&train.identifiers, &held_out.identifiers),
            unseen_function_share: unseen(&train.functions, &held_out.functions),
        }
    }

    /// The text of `corpus.json`.
    pub fn to_json(&self) -> String {
        let repositories: Vec<Value> =
            self.repositories.iter().map(RepositoryReport::to_json).collect();
        let value = json!({
            "version": CORPUS_SCHEMA_VERSION,
            "seed": self.seed,
            "pull_requests": self.pull_requests,
            "kinds": self.kinds,
            "noise": self.noise,
            "events": self.events,
            "hours": self.hours,
            "unseen_identifier_share": self.unseen_identifier_share,
            "unseen_function_share": self.unseen_function_share,
            "repositories": repositories,
        });
        format!("{value:#}\n")
    }
}

/// Share of `held_out` that `train` lacks; 0 for an empty set.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn unseen(train: &BTreeSet<String>, held_out: &BTreeSet<String>) -> f64 {
    if held_out.is_empty() {
        return 0.0;
    }
    held_out.difference(train).count() as f64 / held_out.len() as f64
}

/// The words that templates and headers of a language are made of.
pub(crate) fn common_words(language: Language) -> BTreeSet<String> {
    let mut words: BTreeSet<String> =
        ["from", "import", "use", "crate", "std", "collections", "HashMap", "pub", "const", "i64"]
            .map(str::to_owned)
            .into();
    for template in templates(language) {
        for code in template.bugs.iter().map(|bug| &bug.code).chain([&template.code]) {
            // A placeholder is `$` and one character.
            let plain: Vec<&str> = code.split('$').collect();
            let rests = plain.iter().skip(1).filter_map(|part| part.get(1..));
            for part in plain.iter().take(1).copied().chain(rests) {
                words.extend(identifiers(part).map(str::to_owned));
            }
        }
    }
    words
}

/// The identifiers of a text, strings aside, with repeats.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.lines()
        .flat_map(|line| line.split('"').step_by(2))
        .flat_map(move |code| code.split(move |c| !is_part(c)))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
