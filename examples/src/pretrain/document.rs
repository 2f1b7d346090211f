//! One training text: what is read and what is to be written.

use std::collections::BTreeMap;

use swerl_reward::minimal_edits;
use swerl_rollout::location;

use super::change::change;
use super::code::{Source, name};
use super::phrase::{self, Edit};
use super::random::Random;

/// A text in two parts; the second follows from the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What a reader has.
    pub given: String,
    /// What follows: a quotation, an edit, a diff, or nothing in particular.
    pub wanted: String,
}

/// Which texts are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of every sort but the last, with one short function and no second file: where copying is
    /// learned fastest.
    Small,
    /// Of every sort but the last.
    Full,
    /// A third of them edits that are reasoned out before they are written, the others as in `Full`.
    Reasoned,
}

/// Document number `n` under `seed`.
pub fn document(seed: u64, n: u64, kind: Kind) -> Document {
    let mut r = Random::new(seed, n);
    let small = kind == Kind::Small;
    if kind == Kind::Reasoned && r.percent(35) {
        return reasoned_edit(&mut r);
    }
    match r.below(22) {
        0 => plain(&mut r, small),
        1 | 2 => quoted_function(&mut r, small),
        3..=6 => quoted_lines(&mut r, small),
        7 => which_file(&mut r, small),
        8 | 9 => note(&mut r, small),
        10 | 11 => diff(&mut r, small),
        12 | 13 => words(&mut r, small),
        _ => search_replace(&mut r, small),
    }
}

/// Words, and the same words again.
fn words(r: &mut Random, small: bool) -> Document {
    let count = if small { 4 + r.below(12) } else { 8 + r.below(40) };
    let text: Vec<String> = (0..count).map(|_| name(r)).collect();
    let separators = [" ", ", ", "\n", "_"];
    let text = text.join(r.pick::<&str>(&separators));
    Document { given: format!("{text}\n---\n"), wanted: text + "\n" }
}

fn section(source: &Source) -> String {
    format!("### {}\n{}", source.path, source.text())
}

fn plain(r: &mut Random, small: bool) -> Document {
    let source = Source::random(r, small);
    Document { given: section(&source), wanted: String::new() }
}

/// The request before or after the files, in one of several dresses.
fn dressed(r: &mut Random, request: &str, files: &str) -> String {
    match r.below(6) {
        0 => format!("{request}\n{files}"),
        1 => format!("{files}{request}\n"),
        2 => format!("# {request}\n\n{files}\n"),
        3 => format!("{request}\n---\n{files}---\n"),
        _ => format!("<issue>\n{request}\n</issue>\n{files}"),
    }
}

/// One or two files; the first is the one that matters.
fn files(r: &mut Random, source: &Source, small: bool) -> String {
    if !small && r.percent(40) {
        let mut other = Source::random(r, small);
        other.functions.truncate(1);
        if r.percent(50) {
            return format!("{}{}", section(source), section(&other));
        }
        return format!("{}{}", section(&other), section(source));
    }
    section(source)
}

fn quoted_function(r: &mut Random, small: bool) -> Document {
    let source = Source::random(r, small);
    let function = r.pick(&source.functions).clone();
    let frames = [
        "Show `{}`.",
        "Quote the function `{}`.",
        "What does `{}` look like?",
        "Copy {} as it is.",
    ];
    let request = r.pick(&frames).replace("{}", &function.name);
    let files = files(r, &source, small);
    Document { given: dressed(r, &request, &files), wanted: function.lines.join("\n") + "\n" }
}

fn quoted_lines(r: &mut Random, small: bool) -> Document {
    let source = Source::random(r, small);
    let function = r.pick(&source.functions).clone();
    let at = r.below(function.lines.len());
    let line = &function.lines[at];
    let next = function.lines.get(at + 1);
    let (request, wanted) = match (r.below(3), next) {
        (0, Some(next)) => {
            (format!("What follows `{}` in `{}`?", line.trim(), function.name), format!("{next}\n"))
        }
        (1, _) => {
            let end = (at + 1 + r.below(3)).min(function.lines.len());
            let span = function.lines[at..end].join("\n");
            (
                format!(
                    "Quote {} lines of `{}` from `{}` on.",
                    end - at,
                    function.name,
                    line.trim()
                ),
                span + "\n",
            )
        }
        _ => {
            let words: Vec<&str> = line.trim().split(' ').collect();
            let clue = words[r.below(words.len())];
            (
                format!("Which line of `{}` has `{clue}`?", function.name),
                first_with(&function.lines, clue) + "\n",
            )
        }
    };
    let files = files(r, &source, small);
    Document { given: dressed(r, &request, &files), wanted }
}

fn first_with(lines: &[String], clue: &str) -> String {
    let has = |line: &&String| line.trim().split(' ').any(|word| word == clue);
    lines.iter().find(has).cloned().unwrap_or_default()
}

fn which_file(r: &mut Random, small: bool) -> Document {
    let (a, b) = (Source::random(r, small), Source::random(r, small));
    let chosen = if r.percent(50) { &a } else { &b };
    let function = r.pick(&chosen.functions).name.clone();
    let request = format!("Which file has `{function}`?");
    let files = format!("{}{}", section(&a), section(&b));
    Document { given: dressed(r, &request, &files), wanted: format!("### {}\n", chosen.path) }
}

/// A short thought between its marks, on its own.
fn note(r: &mut Random, small: bool) -> Document {
    let (subject, source) = (name(r), Source::random(r, small));
    let frames = [
        "The cause is in `{}`.",
        "I look at `{}` in `{p}`.",
        "`{}` has to change.",
        "The bug is in `{}`, file `{p}`.",
        "Nothing but `{}` is wrong.",
    ];
    let thought = r.pick(&frames).replace("{}", &subject).replace("{p}", &source.path);
    let given = format!(
        "### {}\n{}{}\n",
        source.path,
        source.text(),
        r.pick(&["<answer>", "---", "Notes:"])
    );
    let wanted = match r.below(3) {
        0 => format!("<think>\n{thought}\n</think>\n"),
        1 => format!("<solution>\n{}\n</solution>\n", name(r)),
        _ => format!("```\n### {}\n```\n", source.path),
    };
    Document { given, wanted }
}

/// A file and the file after an edit, as lines, with the place of the edit.
struct Edited {
    source: Source,
    request: String,
    old: Vec<String>,
    /// First changed line in `old`.
    at: usize,
    removed: usize,
    new: Vec<String>,
}

fn edited(r: &mut Random, small: bool) -> Edited {
    let source = Source::random(r, small);
    let chosen = r.below(source.functions.len());
    let function = &source.functions[chosen];
    let Edit { request, at, removed, new } = phrase::edit(r, function, source.language);
    let old: Vec<String> = source.text().lines().map(str::to_owned).collect();
    let head = &function.lines[0];
    let start = old.iter().position(|line| line == head).expect("a function starts in its file");
    Edited { source, request, old, at: start + at, removed, new }
}

/// Search and replace blocks without the tags of a whole answer. The searched text is the shortest
/// run of lines around the change that occurs once.
fn search_replace(r: &mut Random, small: bool) -> Document {
    let e = edited(r, small);
    let text = e.old.join("\n");
    let (mut start, mut end) = (e.at, e.at + e.removed);
    let occurs = |start: usize, end: usize| {
        format!("\n{text}\n").matches(&format!("\n{}\n", e.old[start..end].join("\n"))).count()
    };
    while occurs(start, end) > 1 && (start > 0 || end < e.old.len()) {
        if start > 0 {
            start -= 1;
        } else {
            end += 1;
        }
    }
    let search = e.old[start..end].join("\n");
    let mut replaced: Vec<String> = e.old[start..e.at].to_vec();
    replaced.extend(e.new.iter().cloned());
    replaced.extend_from_slice(&e.old[e.at + e.removed..end]);
    let block = format!(
        "### {}\n<<<<<<< SEARCH\n{search}\n=======\n{}\n>>>>>>> REPLACE\n",
        e.source.path,
        replaced.join("\n")
    );
    let wanted = match r.below(4) {
        0 => block,
        1 => format!("```\n{block}```\n"),
        2 => format!("{block}---\n"),
        _ => format!("Edit:\n{block}"),
    };
    let files = files(r, &e.source, small);
    Document { given: dressed(r, &e.request, &files), wanted }
}

/// The place of an edit quoted, the words that change, then the block.
fn reasoned_edit(r: &mut Random) -> Document {
    let e = edited(r, false);
    let mut new = e.old.clone();
    new.splice(e.at..e.at + e.removed, e.new.iter().cloned());
    let old_text = e.old.join("\n") + "\n";
    let one = |text: String| BTreeMap::from([(e.source.path.clone(), text)]);
    let edits = minimal_edits(&one(old_text.clone()), &one(new.join("\n") + "\n"));
    let mut thought = vec![e.source.path.clone()];
    let mut blocks = Vec::new();
    for edit in &edits {
        thought.extend(location(&old_text, edit).into_iter().map(str::to_owned));
        thought.extend(change(&edit.search, &edit.replace));
        blocks.push(format!(
            "### {}\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n",
            edit.path, edit.search, edit.replace
        ));
    }
    let (thought, blocks) = (thought.join("\n"), blocks.concat());
    let wanted = match r.below(4) {
        0 => format!("{thought}\n```\n{blocks}```\n"),
        1 => format!("Plan:\n{thought}\n---\n{blocks}"),
        2 => format!("{thought}\n\n{blocks}---\n"),
        _ => format!("<think>\n{thought}\n</think>\n```\n{blocks}```\n"),
    };
    let files = files(r, &e.source, false);
    Document { given: dressed(r, &e.request, &files), wanted }
}

/// A unified diff with one line of context.
fn diff(r: &mut Random, small: bool) -> Document {
    let e = edited(r, small);
    let (from, to) = (e.at.saturating_sub(1), (e.at + e.removed + 1).min(e.old.len()));
    let mut lines = vec![format!("--- {}", e.source.path)];
    lines.extend(e.old[from..e.at].iter().map(|l| format!(" {l}")));
    lines.extend(e.old[e.at..e.at + e.removed].iter().map(|l| format!("-{l}")));
    lines.extend(e.new.iter().map(|l| format!("+{l}")));
    lines.extend(e.old[e.at + e.removed..to].iter().map(|l| format!(" {l}")));
    let files = files(r, &e.source, small);
    Document { given: dressed(r, &e.request, &files), wanted: lines.join("\n") + "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_a_function_of_seed_and_number() {
        assert_eq!(document(3, 17, Kind::Full), document(3, 17, Kind::Full));
        assert_ne!(document(3, 17, Kind::Full), document(3, 18, Kind::Full));
        assert_ne!(document(3, 17, Kind::Full), document(4, 17, Kind::Full));
    }

    #[test]
    fn no_document_holds_a_whole_answer() {
        for n in 0..3000 {
            let d = document(1, n, [Kind::Small, Kind::Full, Kind::Reasoned][(n % 3) as usize]);
            let text = format!("{}{}", d.given, d.wanted);
            let tags = ["<think>", "</think>", "<solution>", "</solution>"];
            assert!(!tags.iter().all(|tag| text.contains(tag)), "{text}");
        }
    }

    #[test]
    fn searched_text_is_in_the_file() {
        let mut seen = 0;
        for n in 0..3000 {
            let d = document(1, n, [Kind::Small, Kind::Full, Kind::Reasoned][(n % 3) as usize]);
            if let Some((_, rest)) = d.wanted.split_once("<<<<<<< SEARCH\n") {
                let (search, _) = rest.split_once("\n=======").expect("a divider");
                assert!(d.given.contains(search), "{}\n{search}", d.given);
                seen += 1;
            }
        }
        assert!(seen > 500, "{seen}");
    }
}
