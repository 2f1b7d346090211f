//! Held-out repositories share no file name, function name or (template, name) pair with training.

use std::collections::BTreeSet;

use swerl_sample_corpus::Language;

use crate::support::{Corpus, git};

fn sides<T: Ord>(of: impl Fn(&Corpus, usize) -> Vec<T>) -> (BTreeSet<T>, BTreeSet<T>) {
    let corpus = Corpus::shared();
    let (mut train, mut held_out) = (BTreeSet::new(), BTreeSet::new());
    for (index, repository) in corpus.report.repositories.iter().enumerate() {
        let side = if repository.held_out { &mut held_out } else { &mut train };
        side.extend(of(corpus, index));
    }
    (train, held_out)
}

#[track_caller]
fn check_disjoint<T: Ord + Clone + std::fmt::Debug>(
    (train, held_out): &(BTreeSet<T>, BTreeSet<T>),
) {
    assert!(!train.is_empty() && !held_out.is_empty());
    let shared: Vec<&T> = train.intersection(held_out).collect();
    assert!(shared.is_empty(), "{shared:?}");
}

#[test]
fn eight_repositories_train_and_four_are_held_out() {
    let repositories = &Corpus::shared().report.repositories;
    let count = |held_out, language| {
        repositories.iter().filter(|r| r.held_out == held_out && r.language == language).count()
    };
    assert_eq!((count(false, Language::Python), count(false, Language::Rust)), (5, 3));
    assert_eq!((count(true, Language::Python), count(true, Language::Rust)), (3, 1));
}

/// Manifests and lock files, which no seed can contain, have the names tools ask for.
const FIXED_NAMES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "pyproject.toml", "poetry.lock"];

#[test]
fn paths_and_file_names_are_disjoint() {
    let paths = |corpus: &Corpus, index: usize| -> Vec<String> {
        let folder = corpus.repository(&corpus.report.repositories[index].name);
        git(&folder, &["ls-tree", "-r", "--name-only", "main"]).lines().map(str::to_owned).collect()
    };
    let own = |path: &String| !FIXED_NAMES.contains(&path.as_str());
    check_disjoint(&sides(|corpus, index| paths(corpus, index).into_iter().filter(own).collect()));
    let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
    check_disjoint(&sides(|corpus, index| {
        paths(corpus, index).into_iter().filter(own).map(name).collect()
    }));
}

#[test]
fn function_names_are_disjoint_in_the_source_text() {
    let names = |corpus: &Corpus, index: usize| -> Vec<String> {
        let repository = &corpus.report.repositories[index];
        let sources = corpus.sources(repository, "main");
        let lines = sources.iter().flat_map(|(_, text)| text.lines());
        lines
            .filter_map(|line| {
                let line = line.strip_prefix("pub ").unwrap_or(line);
                let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("fn "))?;
                Some(rest.split(['(', '<']).next()?.to_owned())
            })
            .collect()
    };
    check_disjoint(&sides(names));
}

#[test]
fn template_and_name_pairs_are_disjoint() {
    check_disjoint(&sides(|corpus, index| corpus.report.repositories[index].functions.clone()));
    let templates = sides(|corpus, index| {
        corpus.report.repositories[index].functions.iter().map(|f| f.template.clone()).collect()
    });
    assert!(templates.0.intersection(&templates.1).count() > 5, "templates are meant to be shared");
}

#[test]
fn the_shares_of_new_names_are_reported() {
    let corpus = Corpus::shared();
    let text = std::fs::read_to_string(corpus.path.join("corpus.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["unseen_function_share"], 1.0);
    let share = json["unseen_identifier_share"].as_f64().unwrap();
    assert!((0.3..1.0).contains(&share), "{share}");
}
