//! Explicit instructions in varied words, and the edit each of them asks for.

use super::code::{Function, Language, name, number};
use super::random::Random;

/// What is asked, and the lines that change: `new[i]` replaces line `at + i` for `removed` lines.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) request: String,
    /// First line that changes, counted in the function.
    pub(super) at: usize,
    /// Number of old lines.
    pub(super) removed: usize,
    pub(super) new: Vec<String>,
}

/// Operators with the verb that names each.
const VERBS: &[(&str, &str)] = &[
    (" + ", "add"),
    (" - ", "subtract"),
    (" * ", "multiply"),
    (" / ", "divide"),
    (" % ", "take the remainder"),
];

/// Comparisons with the words that name each.
const COMPARISONS: &[(&str, &str)] = &[
    (" < ", "less than"),
    (" > ", "greater than"),
    (" <= ", "at most"),
    (" >= ", "at least"),
    (" == ", "equal to"),
    (" != ", "not equal to"),
];

/// A request about one line of `function` and the edit that fulfils it.
pub(super) fn edit(r: &mut Random, function: &Function, language: Language) -> Edit {
    for _ in 0..12 {
        let last = function.lines.len() - usize::from(language == Language::Rust);
        let at = 1 + r.below(last - 1);
        let line = &function.lines[at];
        let found = match r.below(9) {
            0..=2 => rename(r, line),
            3 => renumber(r, line),
            4 => arithmetic(r, line),
            5 => comparison(r, line),
            6 => swapped(r, line),
            7 => return rewritten(r, function, at),
            _ => return inserted_or_removed(r, function, at, language),
        };
        if let Some((what, new)) = found
            && new != *line
        {
            return Edit { request: ask(r, &function.name, &what), at, removed: 1, new: vec![new] };
        }
    }
    rewritten(r, function, 1)
}

/// Wraps what is wanted into a sentence or two that name the function.
fn ask(r: &mut Random, function: &str, what: &[String]) -> String {
    let what = r.pick(what).clone();
    let frames: &[&str] = &[
        "In `{f}`, {w}.",
        "`{f}` should {w}.",
        "`{f}` must {w}.",
        "Please change `{f}`: {w}.",
        "The function `{f}` is wrong. It should {w}.",
        "`{f}` does not work. To fix it, {w}.",
        "Make `{f}` {w}.",
        "I expected `{f}` to {w}. Instead it gives a wrong result.",
        "{f}: {w}",
        "The result of `{f}` is off. It has to {w}.",
        "When I call `{f}`, the value is wrong. It needs to {w}.",
    ];
    r.pick(frames).replace("{f}", function).replace("{w}", &what)
}

/// The identifiers of a line, with their byte ranges.
fn identifiers(line: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut start = None;
    for (i, c) in line.char_indices().chain([(line.len(), ' ')]) {
        if c.is_ascii_alphabetic() || c == '_' || (start.is_some() && c.is_ascii_digit()) {
            start = start.or(Some(i));
        } else if let Some(s) = start.take() {
            out.push((s, &line[s..i]));
        }
    }
    const KEYWORDS: &[&str] = &[
        "return", "if", "for", "in", "let", "mut", "not", "is", "None", "and", "or", "len", "min",
        "max", "get",
    ];
    out.retain(|(_, word)| !KEYWORDS.contains(word));
    out
}

type Found = Option<(Vec<String>, String)>;

fn rename(r: &mut Random, line: &str) -> Found {
    let names = identifiers(line);
    if names.is_empty() {
        return None;
    }
    let (at, old) = *r.pick(&names);
    let new = name(r);
    let line = format!("{}{new}{}", &line[..at], &line[at + old.len()..]);
    Some((
        vec![
            format!("use `{new}` instead of `{old}`"),
            format!("use `{new}` in place of `{old}`"),
            format!("replace `{old}` by `{new}`"),
            format!("take `{new}`, not `{old}`"),
            format!("work with `{new}` where it now has `{old}`"),
        ],
        line,
    ))
}

fn renumber(r: &mut Random, line: &str) -> Found {
    let bytes = line.as_bytes();
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&i| {
            bytes[i].is_ascii_digit()
                && (i == 0 || !(bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'_'))
        })
        .collect();
    if starts.is_empty() {
        return None;
    }
    let at = *r.pick(&starts);
    let len = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let (old, new) = (&line[at..at + len], number(r));
    Some((
        vec![
            format!("use {new} instead of {old}"),
            format!("have {new} where it has {old}"),
            format!("change {old} to {new}"),
            format!("use {new}, not {old}"),
        ],
        format!("{}{new}{}", &line[..at], &line[at + len..]),
    ))
}

fn exchanged(r: &mut Random, line: &str, table: &[(&str, &str)]) -> Option<(usize, usize, String)> {
    let present: Vec<usize> =
        (0..table.len()).filter(|&i| line.matches(table[i].0).count() == 1).collect();
    if present.is_empty() {
        return None;
    }
    let old = *r.pick(&present);
    let new = (old + 1 + r.below(table.len() - 1)) % table.len();
    Some((old, new, line.replacen(table[old].0, table[new].0, 1)))
}

fn arithmetic(r: &mut Random, line: &str) -> Found {
    let (old, new, changed) = exchanged(r, line, VERBS)?;
    let ((o, old), (n, new)) = (VERBS[old], VERBS[new]);
    let (o, n) = (o.trim(), n.trim());
    Some((
        vec![
            format!("{new} where it now has to {old}"),
            format!("{new}, not {old}"),
            format!("use `{n}` instead of `{o}`"),
            format!("{new} instead of {old}"),
        ],
        changed,
    ))
}

fn comparison(r: &mut Random, line: &str) -> Found {
    let (old, new, changed) = exchanged(r, line, COMPARISONS)?;
    let ((o, old), (n, new)) = (COMPARISONS[old], COMPARISONS[new]);
    let (o, n) = (o.trim(), n.trim());
    Some((
        vec![
            format!("check for {new}, not {old}"),
            format!("compare with `{n}` instead of `{o}`"),
            format!("test whether it is {new}"),
            format!("use `{n}` where it has `{o}`"),
        ],
        changed,
    ))
}

fn swapped(r: &mut Random, line: &str) -> Found {
    let open = line.find('(')?;
    let close = open + line[open..].find(')')?;
    let inner = &line[open + 1..close];
    let (a, b) = inner.split_once(", ")?;
    if b.contains(',') || a.contains('(') {
        return None;
    }
    let changed = format!("{}({b}, {a}){}", &line[..open], &line[close + 1..]);
    let _ = r;
    Some((
        vec![
            format!("swap the arguments `{a}` and `{b}`"),
            format!("pass `{b}` before `{a}`"),
            format!("pass `{b}` first, then `{a}`"),
        ],
        changed,
    ))
}

/// A whole new line, given in the request.
fn rewritten(r: &mut Random, function: &Function, at: usize) -> Edit {
    let old = &function.lines[at];
    let indent = old.len() - old.trim_start().len();
    let new = if r.percent(50) {
        old.replacen(old.trim_start().split(' ').next().unwrap_or(""), &name(r), 1)
    } else {
        format!("{}{} = {}", " ".repeat(indent), name(r), name(r))
    };
    let what = vec![
        format!("have the line `{}` in place of `{}`", new.trim(), old.trim()),
        format!("read `{}` and not `{}`", new.trim(), old.trim()),
    ];
    Edit { request: ask(r, &function.name, &what), at, removed: 1, new: vec![new] }
}

/// A line taken out, or put before line `at`.
fn inserted_or_removed(r: &mut Random, function: &Function, at: usize, language: Language) -> Edit {
    let old = &function.lines[at];
    if r.percent(35) && at + 1 < function.lines.len() - 1 && !old.ends_with([':', '{', '}']) {
        let what =
            vec![format!("do without the line `{}`", old.trim()), format!("drop `{}`", old.trim())];
        return Edit { request: ask(r, &function.name, &what), at, removed: 1, new: Vec::new() };
    }
    let indent = " ".repeat(old.len() - old.trim_start().len());
    let (value, end) = (number(r), if language == Language::Python { "" } else { ";" });
    let target = name(r);
    let first = match language {
        Language::Python => format!("{indent}{target} = {value}"),
        Language::Rust => format!("{indent}let {target} = {value}{end}"),
    };
    let what = vec![
        format!("set `{target}` to {value} before `{}`", old.trim()),
        format!("have `{}` before `{}`", first.trim(), old.trim()),
    ];
    Edit { request: ask(r, &function.name, &what), at, removed: 1, new: vec![first, old.clone()] }
}
