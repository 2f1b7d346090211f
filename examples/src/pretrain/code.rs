//! Random small source files in Python and Rust: well formed, meaningless, varied.

use swerl_sample_corpus::WORDS;

use super::random::Random;

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Rust,
}

/// A function and its lines.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: Vec<String>,
}

/// A source file.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) language: Language,
    pub(super) path: String,
    pub(super) header: Vec<String>,
    pub(super) functions: Vec<Function>,
}

impl Source {
    /// A file of up to three functions, or with `small` of one short one.
    pub(super) fn random(r: &mut Random, small: bool) -> Self {
        let language = if r.percent(60) { Language::Python } else { Language::Rust };
        let extension = match language {
            Language::Python => "py",
            Language::Rust => "rs",
        };
        let folder = match r.below(4) {
            0 => String::new(),
            1 => "src/".to_owned(),
            2 => format!("{}/", name(r)),
            _ => format!("src/{}/", name(r)),
        };
        let path = format!("{folder}{}.{extension}", name(r));
        let mut header = Vec::new();
        if !small && r.percent(40) {
            header = match language {
                Language::Python => vec![match r.below(2) {
                    0 => format!("from {} import {}", name(r), constant(r)),
                    _ => format!("{} = {}", constant(r), number(r)),
                }],
                Language::Rust => vec![match r.below(2) {
                    0 => format!("use crate::{}::{};", name(r), constant(r)),
                    _ => format!("pub const {}: i64 = {};", constant(r), number(r)),
                }],
            };
        }
        let count = if small { 1 } else { 1 + r.below(3) };
        let functions =
            (0..count).map(|_| function(r, language, if small { 2 } else { 4 })).collect();
        Self { language, path, header, functions }
    }

    pub(super) fn text(&self) -> String {
        let blank = if self.language == Language::Python { "\n\n" } else { "\n" };
        let mut parts = Vec::new();
        if !self.header.is_empty() {
            parts.push(self.header.join("\n") + "\n");
        }
        parts.extend(self.functions.iter().map(|f| f.lines.join("\n") + "\n"));
        parts.join(blank)
    }
}

/// A snake_case name of one to three words; now and then an invented one.
pub(super) fn name(r: &mut Random) -> String {
    if r.percent(6) {
        let len = 3 + r.below(5);
        return (0..len)
            .map(|i| {
                *r.pick(if i % 2 == 0 { b"bdfgklmnprstvz" } else { b"aeiouaeiouaeio" }) as char
            })
            .collect();
    }
    let words = match r.below(10) {
        0..=2 => 1,
        3..=8 => 2,
        _ => 3,
    };
    let parts: Vec<&str> = (0..words).map(|_| *r.pick(WORDS)).collect();
    parts.join("_")
}

fn constant(r: &mut Random) -> String {
    name(r).to_uppercase()
}

pub(super) fn number(r: &mut Random) -> String {
    match r.below(6) {
        0..=2 => r.below(10).to_string(),
        3 | 4 => r.below(100).to_string(),
        _ => (r.below(40) * 25).to_string(),
    }
}

struct Scope {
    language: Language,
    names: Vec<String>,
}

impl Scope {
    fn var(&self, r: &mut Random) -> String {
        r.pick(&self.names).clone()
    }

    fn atom(&self, r: &mut Random) -> String {
        match r.below(10) {
            0..=5 => self.var(r),
            6 | 7 => number(r),
            8 => format!("{}.{}", self.var(r), r.pick(WORDS)),
            _ => {
                format!("{}[{}]", self.var(r), if r.percent(50) { number(r) } else { self.var(r) })
            }
        }
    }

    fn expr(&self, r: &mut Random) -> String {
        let python = self.language == Language::Python;
        match r.below(12) {
            0 | 1 => self.atom(r),
            2..=4 => {
                format!("{} {} {}", self.atom(r), r.pick(&["+", "-", "*", "/", "%"]), self.atom(r))
            }
            5 => format!("{}({})", name(r), self.atom(r)),
            6 => format!("{}({}, {})", name(r), self.atom(r), self.atom(r)),
            7 if python => {
                format!("{}({}, {})", r.pick(&["min", "max"]), self.atom(r), self.atom(r))
            }
            7 => format!("{}.{}({})", self.var(r), r.pick(&["min", "max"]), self.atom(r)),
            8 if python => format!("len({})", self.var(r)),
            8 => format!("{}.len()", self.var(r)),
            9 if python => format!("{}[{}:{}]", self.var(r), number(r), self.atom(r)),
            9 => format!("{}[{}..{}]", self.var(r), number(r), self.atom(r)),
            10 if python => format!("{}.get(\"{}\", {})", self.var(r), r.pick(WORDS), number(r)),
            10 => format!("{}.unwrap_or({})", self.var(r), number(r)),
            _ => format!(
                "({} {} {}) {} {}",
                self.atom(r),
                r.pick(&["+", "-"]),
                self.atom(r),
                r.pick(&["*", "/"]),
                self.atom(r)
            ),
        }
    }

    fn condition(&self, r: &mut Random) -> String {
        let python = self.language == Language::Python;
        let one = |r: &mut Random| {
            format!(
                "{} {} {}",
                self.atom(r),
                r.pick(&["<", ">", "<=", ">=", "==", "!="]),
                self.atom(r)
            )
        };
        match r.below(8) {
            0 if python => format!("{} is None", self.var(r)),
            1 if python => format!("{} is not None", self.var(r)),
            2 if python => format!("not {}", self.var(r)),
            0 => format!("{}.is_none()", self.var(r)),
            1 => format!("{}.is_some()", self.var(r)),
            2 => format!("{}.is_empty()", self.var(r)),
            3 if python => format!("{} in {}", self.var(r), self.var(r)),
            3 => format!("!{}.contains(&{})", self.var(r), self.var(r)),
            4 if python => format!("{} {} {}", one(r), r.pick(&["and", "or"]), one(r)),
            4 => format!("{} {} {}", one(r), r.pick(&["&&", "||"]), one(r)),
            _ => one(r),
        }
    }

    fn statement(&mut self, r: &mut Random, indent: usize, out: &mut Vec<String>) {
        let pad = " ".repeat(indent);
        let python = self.language == Language::Python;
        let end = if python { "" } else { ";" };
        match r.below(10) {
            0..=3 => {
                let value = self.expr(r);
                let new = name(r);
                let keyword = if python { "" } else { *r.pick(&["let ", "let mut "]) };
                out.push(format!("{pad}{keyword}{new} = {value}{end}"));
                self.names.push(new);
            }
            4 => {
                let op = r.pick(&["+=", "-=", "*="]);
                out.push(format!("{pad}{} {op} {}{end}", self.var(r), self.expr(r)));
            }
            5 | 6 => {
                let condition = self.condition(r);
                out.push(if python {
                    format!("{pad}if {condition}:")
                } else {
                    format!("{pad}if {condition} {{")
                });
                let value = self.expr(r);
                match r.below(3) {
                    0 => out.push(format!("{pad}    {} = {value}{end}", self.var(r))),
                    _ => out.push(format!("{pad}    return {value}{end}")),
                }
                if !python {
                    out.push(format!("{pad}}}"));
                }
            }
            7 => {
                let item = r.pick(WORDS).to_string();
                let over = self.var(r);
                out.push(if python {
                    format!("{pad}for {item} in {over}:")
                } else {
                    format!("{pad}for {item} in {over} {{")
                });
                self.names.push(item);
                let op = r.pick(&["+=", "="]);
                out.push(format!("{pad}    {} {op} {}{end}", self.var(r), self.expr(r)));
                if !python {
                    out.push(format!("{pad}}}"));
                }
            }
            8 => out.push(format!(
                "{pad}{}.{}({}){end}",
                self.var(r),
                r.pick(&["append", "push", "insert", "update", "remove"]),
                self.atom(r)
            )),
            _ => {
                let mark = if python { "#" } else { "//" };
                out.push(format!(
                    "{pad}{mark} {} {} {}",
                    r.pick(WORDS),
                    r.pick(WORDS),
                    r.pick(WORDS)
                ));
            }
        }
    }
}

/// A function of one to `most` statements and a result.
fn function(r: &mut Random, language: Language, most: usize) -> Function {
    let title = name(r);
    let params: Vec<String> = (0..1 + r.below(3)).map(|_| name(r)).collect();
    let signature = match language {
        Language::Python => {
            let mut list = params.clone();
            if r.percent(25) {
                let last = list.len() - 1;
                list[last] = format!(
                    "{}={}",
                    params[last],
                    if r.percent(30) { "None".to_owned() } else { number(r) }
                );
            }
            format!("def {title}({}):", list.join(", "))
        }
        Language::Rust => {
            const TYPES: &[&str] =
                &["i64", "usize", "f64", "&str", "&[i64]", "Option<i64>", "u32", "bool"];
            let list: Vec<String> =
                params.iter().map(|p| format!("{p}: {}", r.pick(TYPES))).collect();
            format!(
                "pub fn {title}({}) -> {} {{",
                list.join(", "),
                r.pick(&["i64", "usize", "f64", "bool", "Option<i64>", "String"])
            )
        }
    };
    let mut scope = Scope { language, names: params };
    let mut lines = vec![signature];
    for _ in 0..1 + r.below(most) {
        scope.statement(r, 4, &mut lines);
    }
    match language {
        Language::Python => lines.push(format!("    return {}", scope.expr(r))),
        Language::Rust => {
            lines.push(format!("    {}", scope.expr(r)));
            lines.push("}".to_owned());
        }
    }
    Function { name: title, lines }
}
