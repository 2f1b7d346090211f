//! The ratio of difflib on pairs of patches, and whole scores.
//!
//! Timed: `Matcher::ratio` with reused memory on one thread, eight pairs of each length in turn;
//! and `Scorer::score` of one output against a prepared target. Making the texts is outside.

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use swerl_benches::revisions::{Revisions, patch_pair, revisions};
use swerl_reward::similarity::Matcher;
use swerl_reward::{Scorer, Target, minimal_edits, render_answer};

/// Pairs of each length.
const PAIRS: u64 = 8;

fn ratios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ratio");
    for characters in [200, 1_000, 5_000, 10_000, 30_000] {
        let pairs: Vec<(String, String)> =
            (0..PAIRS).map(|seed| patch_pair(characters, seed)).collect();
        let mut matcher = Matcher::new();
        let mut turn = 0;
        group.throughput(Throughput::Elements(1));
        group.bench_function(characters.to_string(), |bencher| {
            bencher.iter(|| {
                turn = (turn + 1) % pairs.len();
                let (predicted, oracle) = &pairs[turn];
                matcher.ratio(black_box(predicted), black_box(oracle))
            });
        });
    }
    let (a, b) = ("a".repeat(100_000), "a".repeat(99_999));
    let mut matcher = Matcher::new();
    group.bench_function("100000 equal characters", |bencher| {
        bencher.iter(|| matcher.ratio(black_box(&a), black_box(&b)));
    });
    group.finish();
}

fn scores(criterion: &mut Criterion) {
    let file = |text: String| BTreeMap::from([("a.py".to_owned(), text)]);
    let Revisions { old, oracle, predicted } = revisions(800, 1);
    let (context, oracle, predicted) = (file(old), file(oracle), file(predicted));
    let target = Target::new(&context, &oracle);
    let output = render_answer("as merged, or nearly so", &minimal_edits(&context, &predicted));
    let mut matcher = Matcher::new();
    criterion.bench_function("score an answer on a file of 800 lines", |bencher| {
        bencher.iter(|| Scorer::new().score(&mut matcher, &target, black_box(&output)));
    });
}

criterion_group!(benches, ratios, scores);
criterion_main!(benches);
