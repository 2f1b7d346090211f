//! The curator keeps exactly the fixes that the corpus says are there.

use std::collections::BTreeSet;

use swerl_data::{CurateOptions, DropReason, NoProgress, RepositoryFolder, curate_events};

use crate::support::Corpus;

#[test]
fn curation_keeps_the_fixes_and_drops_the_noise() {
    let corpus = Corpus::shared();
    let clones = RepositoryFolder::new(corpus.path.join("repos"));
    let options = CurateOptions::default();
    let (seeds, report) =
        curate_events(corpus.path.join("events"), &clones, &options, &NoProgress).unwrap();
    let kept: BTreeSet<String> = seeds.iter().map(|seed| seed.id.clone()).collect();
    let planted: BTreeSet<String> = corpus
        .report
        .repositories
        .iter()
        .flat_map(|r| r.fixes.keys().map(|number| format!("{}#{number}", r.name)))
        .collect();
    let lost: Vec<&String> = planted.difference(&kept).collect();
    let extra: Vec<&String> = kept.difference(&planted).collect();
    // Now and then two planted fixes are the same change; the later one is a repetition.
    let count = |reason: DropReason| report.dropped.get(&reason).copied().unwrap_or(0);
    let repeated = count(DropReason::ExactDuplicate) + count(DropReason::NearDuplicate);
    let explained = lost.len() as u64 == repeated && lost.len() * 100 <= planted.len();
    assert!(explained && extra.is_empty(), "lost {lost:?}, extra {extra:?}, {report}");
    assert!(report.adds_up());

    for seed in &seeds {
        assert_eq!(seed.oracle.len(), 1, "{}", seed.id);
        let context = seed.context();
        let (path, fixed) = seed.oracle.iter().next().unwrap();
        assert_ne!(&context[path], fixed, "{}", seed.id);
    }
    assert!(
        seeds.iter().any(|seed| seed.files.len() > 1),
        "some contexts have a file of constants"
    );
}
