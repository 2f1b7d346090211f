//! A repository, events that tell its pull requests, and a folder of clones.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use swerl_data::{
    CurateOptions, CurateReport, DataError, Judges, NoProgress, RepositoryFolder, SeedExample,
    curate_events_with,
};
use tempfile::TempDir;

use crate::fixture::{Pull, TestRepo, issue, pull_events, write_events};

/// A clone at `clones/acme/tool.git`, events at `events`.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) repo: TestRepo,
    pub(crate) events: Vec<Value>,
}

impl World {
    /// One issue (#1) and a first commit on `main`.
    pub(crate) fn new() -> Self {
        let repo = TestRepo::new();
        repo.write(
            "tool/sum.py",
            "import os\nfrom tool import names\n\ndef total(xs):\n    return sum(xs) + 1\n",
        );
        repo.write("tool/names.py", "NAMES = []\n");
        repo.write("tool/other.py", "OTHER = 1\n").write("README.md", "tool 1.0\n");
        repo.commit("Start");
        let events = vec![issue(
            1,
            "2020-01-31T00:00:00Z",
            1,
            "Wrong total",
            "It is one too many.",
            &["bug"],
        )];
        Self { dir: TempDir::new().unwrap(), repo, events }
    }

    /// A branch from `main` with one commit, merged; gives base, head and merge.
    pub(crate) fn merged(
        &self,
        name: &str,
        change: impl FnOnce(&TestRepo),
    ) -> (String, String, String) {
        let base = self.repo.git(&["rev-parse", "main"]);
        self.repo.branch(name, "main");
        change(&self.repo);
        let head = self.repo.commit(&format!("Work on {name}"));
        self.repo.checkout("main");
        let merge = self.repo.merge(&[name], &format!("Merge {name}"));
        (base, head, merge)
    }

    pub(crate) fn add(&mut self, pull: &Pull) {
        let id = 100 + 10 * pull.number;
        self.events.extend(pull_events(id, pull));
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn clone_repo(&self) {
        let target = self.folder("clones/acme/tool.git");
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        self.repo.git(&["clone", "--quiet", "--bare", ".", target.to_str().unwrap()]);
    }

    pub(crate) fn curate(&self) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
        self.curate_by(&CurateOptions::default(), &Judges::default())
    }

    pub(crate) fn curate_by(
        &self,
        options: &CurateOptions,
        judges: &Judges<'_>,
    ) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
        write_events(&self.folder("events/2020-01-01-0.json.gz"), &self.events);
        let clones = RepositoryFolder::new(self.folder("clones"));
        let result =
            curate_events_with(self.folder("events"), &clones, options, judges, &NoProgress);
        if let Ok((seeds, report)) = &result {
            assert!(report.adds_up(), "{report}");
            assert_eq!(report.kept, seeds.len() as u64);
            seeds.iter().for_each(|seed| seed.validate().unwrap());
        }
        result
    }
}
