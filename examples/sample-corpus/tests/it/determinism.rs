//! The same options give the same bytes; other seeds do not; nothing is replaced or left behind.

use swerl_sample_corpus::{CorpusError, CorpusOptions, generate};

use crate::support::{Corpus, SHARED, git};

#[test]
fn two_runs_agree_to_the_byte() {
    let (first, second) = (Corpus::shared(), Corpus::make(&SHARED));
    assert_eq!(first.report, second.report);
    assert!(first.event_files() == second.event_files(), "event files differ");
    let json = |corpus: &Corpus| std::fs::read(corpus.path.join("corpus.json")).unwrap();
    assert_eq!(json(first), json(&second));
    for repository in &first.report.repositories {
        let references = |corpus: &Corpus| {
            git(
                &corpus.repository(&repository.name),
                &["for-each-ref", "--format=%(objectname) %(refname)"],
            )
        };
        let references = (references(first), references(&second));
        assert!(references.0.contains("refs/heads/main"));
        assert_eq!(references.0, references.1, "{}", repository.name);
    }
}

#[test]
fn another_seed_gives_another_corpus() {
    let options = CorpusOptions { seed: 8, pull_requests: 12 };
    let other = Corpus::make(&options);
    let known = &Corpus::shared().report.repositories;
    for repository in &other.report.repositories {
        assert!(known.iter().all(|one| one.name != repository.name));
    }
}

#[test]
fn an_existing_folder_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "text").unwrap();
    let made = generate(folder.path(), &SHARED, &mut |_, _| {});
    assert!(matches!(made, Err(CorpusError::Exists { path }) if path == folder.path()));
    assert_eq!(std::fs::read_to_string(folder.path().join("mine")).unwrap(), "text");
}

#[test]
fn an_interrupted_run_is_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    let (out, aside) = (folder.path().join("corpus"), folder.path().join("corpus.tmp"));
    std::fs::create_dir_all(aside.join("events")).unwrap();
    std::fs::write(aside.join("events/half.json.gz"), "half").unwrap();
    let options = CorpusOptions { seed: 7, pull_requests: 1 };
    generate(&out, &options, &mut |_, _| {}).unwrap();
    assert!(!aside.exists());
    assert!(!out.join("events/half.json.gz").exists());
}

#[test]
fn the_count_asked_for_is_the_count_made() {
    for pull_requests in [0, 1, 13, 37] {
        let corpus = Corpus::make(&CorpusOptions { seed: 3, pull_requests });
        assert_eq!(corpus.report.pull_requests, pull_requests);
        assert_eq!(corpus.report.kinds.values().sum::<usize>(), pull_requests);
    }
}
