//! Writes pairs of patches with their ratio and our time, one JSON object a line, for
//! `benches/peers/similarity.py`, which times other libraries on the same pairs.
//!
//! Timed: `Matcher::ratio` with reused memory on one thread, the fastest of several calls.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use swerl_benches::revisions::patch_pair;
use swerl_reward::similarity::Matcher;

fn main() {
    let mut matcher = Matcher::new();
    for characters in [200, 1_000, 5_000, 10_000, 30_000] {
        for seed in 0..8 {
            let (a, b) = patch_pair(characters, seed);
            let calls = (2_000_000 / characters).clamp(20, 2_000);
            let mut fastest = f64::INFINITY;
            let mut ratio = 0.0;
            for _ in 0..calls {
                let start = Instant::now();
                ratio = matcher.ratio(black_box(&a), black_box(&b));
                fastest = fastest.min(start.elapsed().as_secs_f64());
            }
            let line = json!({"characters": characters, "seed": seed, "a": a, "b": b,
                "ratio": ratio, "seconds": fastest});
            println!("{line}");
        }
    }
}
