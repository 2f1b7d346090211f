//! Hostile texts: linear time, bounded memory, no panic. Times are checked with a wide margin
//! (the honest figures are milliseconds), so that only a wrong order of growth fails.

use std::time::{Duration, Instant};

use swerl_reward::format::edit_blocks;
use swerl_reward::similarity::Matcher;
use swerl_reward::similarity::ratio;
use swerl_reward::{Limit, Limits, Outcome, Scorer, Target, score_search_replace, unified_patch};

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

#[test]
fn a_time_limit_stops_the_work() {
    // Far too much to compare in no time: no shared run of four characters, a wide alphabet.
    let text = |seed: u32| -> String {
        (0..400_000u32)
            .map(|n| {
                let hash = (n ^ seed).wrapping_mul(0x9e37_79b9) >> 20;
                char::from_u32(0x4e00 + hash % 3000).unwrap()
            })
            .collect()
    };
    let (old, new, predicted) = (files(&[("p", "")]), files(&[("p", &text(1))]), text(77));
    let target = Target::new(&old, &new);
    let output = format!(
        "<think>t</think><solution>\n```\n### p\n<<<<<<< SEARCH\n\n=======\n{predicted}\n>>>>>>> REPLACE\n```\n</solution>"
    );
    let mut matcher = Matcher::new();
    let limit = Duration::from_millis(1);
    let late = quick("a limit passed", || {
        Scorer::new().score_within(limit, &mut matcher, &target, &output)
    });
    assert_eq!(late, None);
    // The matcher is as good as new afterwards.
    assert_eq!(matcher.ratio("tide", "diet"), 0.25);
    let ample = Duration::from_secs(3600);
    let score = Scorer::new().score_within(ample, &mut matcher, &target, "no tags");
    assert_eq!(score.map(|score| score.reward), Some(-1.0));
}
