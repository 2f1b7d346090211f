//! Against a live CPython: random pairs from hostile alphabets, one `python3` process, a fixed
//! seed. Passes with a note where no `python3` is present.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use swerl_reward::similarity::Matcher;
use swerl_reward::{split_lines, unified_patch};

const PAIRS: u64 = 6000;
const SEED: u64 = 0x5eed_0001;

/// Reads pairs, writes the ratio without autojunk, the patch with it, and the lines of `a`.
const SCRIPT: &str = r"
import difflib, json, sys
for line in sys.stdin:
    pair = json.loads(line)
    a, b = pair['a'], pair['b']
    small = len(a) * len(b) < 250000
    ratio = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if small else None
    diff = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm='', n=3))
    out = {'ratio': ratio, 'patch': '\n'.join(diff[2:]), 'lines': a.splitlines()}
    sys.stdout.write(json.dumps(out) + '\n')
";

#[derive(Serialize)]
struct Pair<'a> {
    a: &'a str,
    b: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    /// Not computed for long pairs, which take CPython seconds.
    ratio: Option<f64>,
    patch: String,
    lines: Vec<String>,
}

#[test]
fn equals_live_difflib() {
    let child = Command::new("python3")
        .args(["-c", SCRIPT])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: no python3");
        return;
    };
    let pairs: Vec<(String, String)> = (0..PAIRS).map(pair).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = pairs.clone();
    let writer = std::thread::spawn(move || {
        for (a, b) in &sent {
            let line = serde_json::to_string(&Pair { a, b }).unwrap();
            writeln!(stdin, "{line}").unwrap();
        }
    });
    let mut matcher = Matcher::new();
    let mut ratios = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (number, (a, b)) in pairs.iter().enumerate() {
        let line = lines.next().expect("one answer a pair").unwrap();
        let answer: Answer = serde_json::from_str(&line).unwrap();
        if let Some(ratio) = answer.ratio {
            assert_eq!(matcher.ratio(a, b), ratio, "pair {number}: {a:?} {b:?}");
            ratios += 1;
        }
        assert_eq!(unified_patch(a, b), answer.patch, "pair {number}: {a:?} {b:?}");
        assert_eq!(split_lines(a), answer.lines, "pair {number}: {a:?}");
    }
    assert!(ratios > 5000, "only {ratios} pairs were short enough");
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
}

/// A counter-based generator: each number is a hash of seed, pair and draw.
struct Draws {
    pair: u64,
    count: u64,
}

impl Draws {
    fn next(&mut self) -> u64 {
        self.count += 1;
        let mut x = SEED ^ (self.pair << 32) ^ self.count;
        for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> shift)).wrapping_mul(factor);
        }
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn pair(number: u64) -> (String, String) {
    const WORDS: [&[&str]; 7] = [
        &["a", "b"],
        &[" ", "  ", "    ", "\n", "x"],
        &[
            "def f(x):\n",
            "    return x\n",
            "if x",
            " == ",
            "None",
            "self.",
            "a",
            "(",
            ")",
            "\n",
            "    ",
        ],
        &["a\r\n", "b\n", "\r", "\n", "a", "\r\n"],
        &["\u{2028}", "a", "\u{85}", "\u{1c}", "\u{b}", "\u{c}", "\u{2029}", "\n", "b"],
        &["😀", "𝒜", "é", "e\u{301}", "日", "本", "\n", "a"],
        &["pass\n", "\n", "}\n", "x = 1\n", "y\n"],
    ];
    let mut draws = Draws { pair: number, count: 0 };
    let words = WORDS[draws.below(WORDS.len() as u64) as usize];
    let longest = [4, 15, 50, 120, 300][draws.below(5) as usize];
    let mut text = |length: u64| -> Vec<String> {
        let numbered = draws.below(3) == 0;
        (0..length)
            .map(|_| {
                let word = words[draws.below(words.len() as u64) as usize];
                // Many distinct symbols: rare lines beside popular ones, wide alphabets.
                match (numbered, draws.below(4)) {
                    (true, 0) => format!("{}\n", draws.below(500)),
                    (true, 1) => {
                        char::from_u32(0x4e00 + draws.below(700) as u32).unwrap().to_string()
                    }
                    _ => word.to_owned(),
                }
            })
            .collect()
    };
    let a = text(longest);
    let mut b = if number.is_multiple_of(4) { text(longest) } else { a.clone() };
    for _ in 0..draws.below(1 + longest / 4) {
        if b.is_empty() {
            break;
        }
        let at = draws.below(b.len() as u64) as usize;
        match draws.below(4) {
            0 => drop(b.remove(at)),
            1 => b.insert(at, words[draws.below(words.len() as u64) as usize].to_owned()),
            2 => b[at] = words[draws.below(words.len() as u64) as usize].to_owned(),
            _ => {
                // Move a piece, which is where tie-breaks show.
                let piece: Vec<String> = b.drain(at..(at + 5).min(b.len())).collect();
                let to = draws.below(b.len() as u64 + 1) as usize;
                b.splice(to..to, piece);
            }
        }
    }
    (a.concat(), b.concat())
}
