//! A small corpus made once, and ways to look into it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::Value;
use swerl_sample_corpus::{CorpusOptions, CorpusReport, RepositoryReport, generate};

/// The options of the corpus most tests share.
pub(crate) const SHARED: CorpusOptions = CorpusOptions { seed: 7, pull_requests: 60 };

/// A corpus on disk.
pub(crate) struct Corpus {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) report: CorpusReport,
}

impl Corpus {
    pub(crate) fn make(options: &CorpusOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus");
        let report = generate(&path, options, &mut |_, _| {}).unwrap();
        Self { _folder: folder, path, report }
    }

    /// The corpus of [`SHARED`]; its folder outlives the tests of one process.
    pub(crate) fn shared() -> &'static Self {
        static CORPUS: OnceLock<Corpus> = OnceLock::new();
        CORPUS.get_or_init(|| Self::make(&SHARED))
    }

    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        self.path.join("repos").join(format!("{name}.git"))
    }

    /// Name and bytes of every event file, by name.
    pub(crate) fn event_files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.path.join("events")).unwrap();
        entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, std::fs::read(path).unwrap())
            })
            .collect()
    }

    /// Every event, in the order of its number.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        for bytes in self.event_files().values() {
            let mut text = String::new();
            GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
            events.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        events.sort_by_key(|event| event["id"].as_str().unwrap().parse::<u64>().unwrap());
        events
    }

    /// Source files of a repository at a commit, constants and module lists included.
    pub(crate) fn sources(
        &self,
        repository: &RepositoryReport,
        commit: &str,
    ) -> Vec<(String, String)> {
        let folder = self.repository(&repository.name);
        let list = git(&folder, &["ls-tree", "-r", "--name-only", commit]);
        let extension = format!(".{}", repository.language.extension());
        list.lines()
            .filter(|path| path.ends_with(&extension))
            .map(|path| (path.to_owned(), git(&folder, &["show", &format!("{commit}:{path}")])))
            .collect()
    }
}

/// The standard output of a git command that must succeed.
#[track_caller]
pub(crate) fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .arg("--git-dir")
        .arg(repository)
        .args(arguments)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}
