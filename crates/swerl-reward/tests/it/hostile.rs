//! Hostile texts: linear time, bounded memory, no panic. Times are checked with a wide margin
//! (the honest figures are milliseconds), so that only a wrong order of growth fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use swerl_reward::format::edit_blocks;
use swerl_reward::similarity::Matcher;
use swerl_reward::similarity::ratio;
use swerl_reward::{
    Limit, Limits, Outcome, Scorer, Target, parse_unidiff, score_search_replace, unified_patch,
};

use crate::files;

/// The time this thread has run: on Linux without the time it waited for a processor, so that a
/// busy machine fails nothing. Elsewhere the time of the clock.
fn running_time(since: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

#[track_caller]
fn quick<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let start = running_time(since);
    let value = run();
    let took = running_time(since) - start;
    eprintln!("{what}: {took:?}");
    assert!(took < Duration::from_secs(10), "{what} took {took:?}");
    value
}

#[test]
fn repetitive_texts_are_matched_quickly() {
    let a = "a".repeat(100_000);
    assert_eq!(quick("equal characters", || ratio(&a, &a[1..])), 2.0 * 99_999.0 / 199_999.0);
    let (ab, ba) = ("ab".repeat(50_000), "ba".repeat(50_000));
    assert_eq!(quick("two letters", || ratio(&ab, &ba)), 2.0 * 99_999.0 / 200_000.0);
    // Every block has length 1, and there are 20,000 of them.
    let wide = |fill: char| -> String {
        (0..20_000).flat_map(|n| [char::from_u32(0x10000 + n).unwrap(), fill]).collect()
    };
    assert_eq!(quick("blocks of one", || ratio(&wide('x'), &wide('y'))), 0.5);
    // Blocks of every length from 1 to 300, each between letters of its own.
    let ladder = |fill: char| -> String {
        (1..300u32)
            .flat_map(|n| {
                (0..n).map(move |k| char::from_u32(0x20000 + n * 300 + k).unwrap()).chain([fill])
            })
            .collect()
    };
    let value = quick("blocks of every length", || ratio(&ladder('x'), &ladder('y')));
    assert!((0.99..1.0).contains(&value), "{value}");
    let fib = |first: &str, second: &str| {
        (0..22).fold((first.to_owned(), second.to_owned()), |(a, b), _| (b.clone(), b + &a)).1
    };
    quick("Fibonacci words", || ratio(&fib("a", "b"), &fib("b", "ab")));
    let lines = "x\n".repeat(200_000);
    quick("equal lines", || unified_patch(&lines, &lines[2..]));
}

#[test]
fn long_outputs_are_read_quickly() {
    let block = "```\n### p\n<<<<<<< SEARCH\ns\n=======\nr\n>>>>>>> REPLACE\n```\n";
    assert_eq!(quick("many blocks", || edit_blocks(&block.repeat(150_000)).count()), 150_000);
    for piece in [
        "```",
        "```\n",
        "```\n### p\n",
        "```\n### p\n<<<<<<< SEARCH\n",
        "\n=======",
        "=======\n",
        "\n>>>>>>> REPLACE\n``",
        "### ",
    ] {
        let text = piece.repeat(10_000_000 / piece.len());
        quick(piece, || edit_blocks(&text).count());
        let headed = format!("```\n### p\n<<<<<<< SEARCH\ns\n=======\n{text}");
        quick(piece, || edit_blocks(&headed).count());
    }
}

#[test]
fn limits_are_outcomes() {
    let context = files(&[("p", "x\n")]);
    let target = Target::new(&context, &context);
    let limited = |blocks: &str, limits: Limits| {
        let output = format!("<think>t</think><solution>\n{blocks}</solution>");
        let score = Scorer::new().with_limits(limits).score(&mut Matcher::new(), &target, &output);
        (score.reward, score.outcome)
    };
    let passed = |limit| (-1.0, Outcome::LimitPassed { limit });
    // An empty search text doubles the line breaks with each block: 2^60 lines without a limit.
    let doubling = "```\n### p\n<<<<<<< SEARCH\n\n=======\n\n\n>>>>>>> REPLACE\n```\n".repeat(60);
    assert_eq!(limited(&doubling, Limits::default()), passed(Limit::GrowthBytes));
    let many = "```\n### p\n<<<<<<< SEARCH\nx\n=======\nxy\n>>>>>>> REPLACE\n```\n".repeat(5000);
    assert_eq!(limited(&many, Limits::default()), passed(Limit::Edits));
    let mut limits = Limits::default();
    limits.edits = usize::MAX;
    limits.searched_bytes = 10_000;
    assert_eq!(limited(&many, limits), passed(Limit::SearchedBytes));
    limits.output_bytes = 100;
    assert_eq!(limited(&many, limits), passed(Limit::OutputBytes));
}

#[test]
fn paths_are_only_keys() {
    for path in
        ["../../etc/passwd", "/etc/passwd", "C:\\x", "a\0b", "\u{1b}[2J", "..", "", " p", "p "]
    {
        let context = files(&[("p", "x\n")]);
        let output = |search: &str| {
            format!(
                "<think>t</think><solution>\n```\n### {path}\n<<<<<<< SEARCH\n{search}\n=======\ny\n>>>>>>> REPLACE\n```\n</solution>"
            )
        };
        let score = score_search_replace(&context, &context, &output("x"));
        assert_eq!(score.outcome, Outcome::SearchNotFound { path: path.into(), index: 0 });
        // A new file of that name is a change beside the oracle's.
        let score = score_search_replace(&context, &context, &output(""));
        assert_eq!((score.reward, score.similarities.get(path)), (0.0, Some(&0.0)), "{path:?}");
    }
}

/// What no entry but the one for answers knows: a reward of 0, never -1.
#[test]
fn limits_of_contents_and_of_unidiffs() {
    let (context, oracle) = (files(&[("p", "x\n")]), files(&[("p", "y\n")]));
    let mut limits = Limits::default();
    (limits.output_bytes, limits.growth_bytes, limits.edits) = (400, 200, 3);
    let scorer = Scorer::new().with_limits(limits);
    let contents = |predicted: &[(&str, &str)]| {
        let score =
            scorer.score_contents(&mut Matcher::new(), &context, &files(predicted), &oracle);
        assert!(score.reward == 0.0 || score.is_valid());
        score.outcome
    };
    let passed = |limit| Outcome::LimitPassed { limit };
    let (long, longer) = ("z".repeat(180), "z".repeat(210));
    assert_eq!(contents(&[("p", &long)]), Outcome::Scored);
    assert_eq!(contents(&[("p", &longer)]), passed(Limit::GrowthBytes));
    assert_eq!(contents(&[("a", &long), ("b", &long), ("c", &long)]), passed(Limit::OutputBytes));
    let many = ["a", "b", "c", "d", "e"].map(|path| (path, "z"));
    assert_eq!(contents(&many[..4]), Outcome::Scored);
    assert_eq!(contents(&many), passed(Limit::Edits));

    let diff =
        |path: &str, line: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+{line}\n");
    let unidiffs = |predicted: &[String], oracle: &str| {
        let score = scorer.score_unidiff(&mut Matcher::new(), predicted, &[diff("p", oracle)]);
        assert!(score.reward == 0.0 || score.is_valid());
        score.outcome
    };
    assert_eq!(unidiffs(&[diff("p", &long)], "y"), Outcome::Scored);
    assert_eq!(unidiffs(&[diff("p", &longer)], "y"), passed(Limit::GrowthBytes));
    assert_eq!(unidiffs(&[diff("p", &longer)], &longer), Outcome::Scored);
    assert_eq!(unidiffs(&[diff("p", &long), diff("p", &long)], "y"), passed(Limit::OutputBytes));
    let many: Vec<String> = ["a", "b", "c", "d", "e"].map(|path| diff(path, "z")).into();
    assert_eq!(unidiffs(&many[..4], "y"), Outcome::Scored);
    assert_eq!(unidiffs(&many, "y"), passed(Limit::Edits));
}

#[test]
fn long_diffs_are_read_quickly() {
    let hunks = "@@ -1 +1 @@\n-a\n+b\n".repeat(500_000);
    let many = quick("many hunks", || parse_unidiff(&format!("--- a/f\n+++ b/f\n{hunks}")));
    assert_eq!(many.unwrap()["f"].len(), 500_000 * 22 - 1);
    for piece in [
        "diff --git a/x b/x\n",
        "--- a\n+++ b\n",
        "Binary files a and b differ\n",
        "\n",
        " b/ b/",
        "Binary file \t and ",
        "@@ -1,9999999 +1,9999999 @@\n",
    ] {
        let text = piece.repeat(8_000_000 / piece.len());
        let headed = format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n{text}");
        let git = format!("diff --git a/{text}");
        for text in [text, headed, git] {
            quick(piece, || parse_unidiff(&text).is_ok());
        }
    }
}

/// Texts that share no run of several characters, of a given alphabet.
fn random_text(seed: u32, length: u32, alphabet: u32) -> String {
    (0..length)
        .map(|n| {
            let hash = (n ^ seed).wrapping_mul(0x9e37_79b9);
            let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b) >> 16;
            char::from_u32(0x4e00 + hash % alphabet).unwrap()
        })
        .collect()
}

#[test]
fn a_time_limit_stops_the_work() {
    for (alphabet, same) in [(2, 0), (60, 0), (3000, 0), (100, 1_000_000)] {
        // Far too much to compare within the limit, in one round or in several.
        let text = |seed| "=".repeat(same) + &random_text(seed, 1_500_000, alphabet);
        let (old, new, predicted) = (files(&[("p", "")]), files(&[("p", &text(1))]), text(77));
        let target = Target::new(&old, &new);
        let output = format!(
            "<think>t</think><solution>\n```\n### p\n<<<<<<< SEARCH\n\n=======\n{predicted}\n>>>>>>> REPLACE\n```\n</solution>"
        );
        let mut limits = Limits::default();
        limits.growth_bytes = usize::MAX;
        let scorer = Scorer::new().with_limits(limits);
        let mut matcher = Matcher::new();
        let since = Instant::now();
        let start = running_time(since);
        let limit = Duration::from_millis(50);
        assert_eq!(scorer.score_within(limit, &mut matcher, &target, &output), None);
        let took = running_time(since) - start;
        eprintln!("limit 50 ms, alphabet {alphabet}: {took:?}");
        assert!(took < Duration::from_secs(1), "alphabet {alphabet}: {took:?}");
        // The matcher is as good as new afterwards.
        assert_eq!(matcher.ratio("tide", "diet"), 0.25);
        let ample = Duration::from_secs(3600);
        let score = scorer.score_within(ample, &mut matcher, &target, "no tags");
        assert_eq!(score.map(|score| score.reward), Some(-1.0));
    }
}

#[test]
fn long_random_texts_are_matched_quickly() {
    for alphabet in [2, 4, 26, 64, 100, 3000] {
        let (a, b) = (random_text(1, 400_000, alphabet), random_text(2, 400_000, alphabet));
        let value = quick(&format!("random, alphabet {alphabet}"), || ratio(&a, &b));
        assert!((0.0..0.9).contains(&value), "{value}");
    }
}

/// A limit inside another one: the nearer one holds, and the outer one goes on behind it.
#[test]
fn time_limits_nest_and_outlive_a_panic() {
    let (a, b) = (random_text(1, 1_500_000, 60), random_text(2, 1_500_000, 60));
    let (short, ample) = (Duration::from_millis(20), Duration::from_secs(3600));
    let mut matcher = Matcher::new();
    let since = Instant::now();
    let start = running_time(since);
    let inside = matcher.within(short, |matcher| matcher.within(ample, |m| m.ratio(&a, &b)));
    assert_eq!(inside, None);
    let behind = matcher.within(short, |matcher| {
        assert_eq!(matcher.within(ample, |matcher| matcher.ratio("tide", "diet")), Some(0.25));
        matcher.ratio(&a, &b)
    });
    assert_eq!(behind, None);
    let outer = matcher.within(ample, |matcher| {
        assert_eq!(matcher.within(short, |matcher| matcher.ratio(&a, &b)), None);
        matcher.ratio("tide", "diet")
    });
    assert_eq!(outer, Some(0.25));
    let took = running_time(since) - start;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(matcher.within(Duration::ZERO, |matcher| matcher.ratio("tide", "diet")), None);
    assert_eq!(matcher.within(Duration::MAX, |matcher| matcher.ratio("tide", "diet")), Some(0.25));

    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        matcher.within(Duration::ZERO, |_| panic!("the caller's own"))
    }));
    assert!(panicked.is_err());
    assert_eq!(matcher.ratio("tide", "diet"), 0.25);
}

#[test]
fn another_thread_stops_the_work() {
    let (a, b) = (random_text(1, 1_500_000, 60), random_text(2, 1_500_000, 60));
    let cancel = Arc::new(AtomicBool::new(false));
    let since = Instant::now();
    let value = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let start = running_time(since);
            let value = Matcher::new().unless(&cancel, |matcher| matcher.ratio(&a, &b));
            (value, running_time(since) - start)
        });
        std::thread::sleep(Duration::from_millis(20));
        cancel.store(true, Ordering::Relaxed);
        work.join().unwrap()
    });
    assert_eq!(value.0, None);
    assert!(value.1 < Duration::from_secs(1), "{:?}", value.1);
}

/// Runs of every length, each equal to parts of all others: the text with the most rounds.
#[test]
fn rounds_without_end_are_a_limit() {
    let ladder = |end: char| (1..160).map(|n| "a".repeat(n) + &end.to_string()).collect::<String>();
    let (old, new, predicted) = (files(&[("p", "")]), ladder('\t'), ladder(' '));
    let oracle = files(&[("p", &new)]);
    let target = Target::new(&old, &oracle);
    let output = format!(
        "<think>t</think><solution>\n```\n### p\n<<<<<<< SEARCH\n\n=======\n{predicted}\n>>>>>>> REPLACE\n```\n</solution>"
    );
    let diff = |line: &str| [format!("--- a/p\n+++ b/p\n@@ -0,0 +1 @@\n+{line}\n")];
    let scores = |scorer: Scorer| {
        let mut matcher = Matcher::new();
        [
            scorer.score(&mut matcher, &target, &output),
            scorer.score_contents(&mut matcher, &old, &files(&[("p", &predicted)]), &oracle),
            scorer.score_unidiff(&mut matcher, &diff(&predicted), &diff(&new)),
        ]
    };
    let mut limits = Limits::default();
    // The texts are 26 thousand characters long, and 158 rounds look at most of them.
    for (most, passes) in [(50_000, true), (200_000, true), (5_000_000, false)] {
        limits.compared_symbols = most;
        let scores = scores(Scorer::new().with_limits(limits));
        for (score, reward) in scores.iter().zip([-1.0, 0.0, 0.0]) {
            assert_eq!(score.is_valid(), !passes, "{most}: {score}");
            if passes {
                let outcome = Outcome::LimitPassed { limit: Limit::ComparedSymbols };
                assert_eq!((score.reward, &score.outcome), (reward, &outcome));
            }
        }
    }
    assert_eq!(scores(Scorer::new()), scores(Scorer::new().with_limits(Limits::UNLIMITED)));
}
