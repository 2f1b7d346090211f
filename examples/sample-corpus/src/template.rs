//! The function templates and the bugs that can be planted in them, from `template/*.txt`.
//!
//! A template file is a list of `=== NAME` sections: the correct function, then one or more
//! `--- KIND` sections. In these, lines that start with `-` are lines of the function, which the
//! `+` lines (possibly none) replace to make the bug; `t`, `w` and `e` lines are alternative
//! wordings for the issue: a verb phrase for the title, what the function does wrong, and, as a bare
//! infinitive, what is expected of it.
//!
//! `$` and one character is a placeholder: `f` and `g` functions, `a` to `e` variables, `x` to `z` plain
//! words (keys), `K` and `L` constants of the package, `n` a number from 2 to 9, `m` and `p` numbers
//! from 10 to 99, `s` and `t` separators. Those that share a class never share a value.

use std::collections::BTreeMap;

/// The language of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Language {
    /// Python 3.
    Python,
    /// Rust.
    Rust,
}

impl Language {
    /// The name as GitHub writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Rust => "Rust",
        }
    }

    /// The extension of a source file, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Python => "py",
            Self::Rust => "rs",
        }
    }
}

/// A bug that can be planted in a template.
pub(crate) struct Bug {
    pub(crate) kind: &'static str,
    /// The whole function with the bug in it.
    pub(crate) code: String,
    pub(crate) titles: Vec<&'static str>,
    pub(crate) wrongs: Vec<&'static str>,
    pub(crate) expected: Vec<&'static str>,
}

/// A function with its possible bugs.
pub(crate) struct Template {
    pub(crate) name: &'static str,
    /// The correct function; every line ends with a newline.
    pub(crate) code: String,
    pub(crate) bugs: Vec<Bug>,
}

const PYTHON: &[&str] = &[
    include_str!("template/python_loops.txt"),
    include_str!("template/python_lists.txt"),
    include_str!("template/python_numbers.txt"),
    include_str!("template/python_checks.txt"),
    include_str!("template/python_constants.txt"),
    include_str!("template/python_text.txt"),
    include_str!("template/python_keys.txt"),
];

const RUST: &[&str] = &[
    include_str!("template/rust_loops.txt"),
    include_str!("template/rust_numbers.txt"),
    include_str!("template/rust_checks.txt"),
    include_str!("template/rust_text.txt"),
];

/// The templates of a language, in file order.
///
/// # Panics
/// If an embedded template file breaks the format above; the tests read them all.
pub(crate) fn templates(language: Language) -> Vec<Template> {
    let files = match language {
        Language::Python => PYTHON,
        Language::Rust => RUST,
    };
    files.iter().flat_map(|text| parse(text)).collect()
}

fn parse(text: &'static str) -> Vec<Template> {
    sections(text, "=== ")
        .into_iter()
        .map(|(name, body)| {
            let end = body.find("--- ").expect("a template has a bug");
            let code = body[..end].to_owned();
            let bugs = sections(&body[end..], "--- ");
            let bugs = bugs.into_iter().map(|(kind, body)| bug(name, &code, kind, body)).collect();
            Template { name, code, bugs }
        })
        .collect()
}

/// Splits at lines that start with `mark`; gives each section's title and body.
fn sections(text: &'static str, mark: &str) -> Vec<(&'static str, &'static str)> {
    let mut starts: Vec<usize> = text.match_indices(mark).map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || text.as_bytes()[at - 1] == b'\n');
    assert_eq!(starts.first(), Some(&0), "a template file starts with a section");
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| {
            let section = &text[start + mark.len()..end];
            section.split_once('\n').expect("a section has a title line")
        })
        .collect()
}

fn bug(template: &str, code: &str, kind: &'static str, body: &'static str) -> Bug {
    let mut right = String::new();
    let mut wrong = String::new();
    let mut wordings: BTreeMap<char, Vec<&'static str>> = BTreeMap::new();
    for line in body.lines() {
        let mut rest = line.chars();
        match rest.next() {
            Some('-') => right += &format!("{}\n", rest.as_str()),
            Some('+') => wrong += &format!("{}\n", rest.as_str()),
            Some(mark @ ('t' | 'w' | 'e')) => {
                wordings.entry(mark).or_default().push(rest.as_str().trim_start());
            }
            _ => panic!("template {template}, bug {kind}: cannot read the line {line:?}"),
        }
    }
    assert_eq!(
        code.matches(&right).count(),
        1,
        "template {template}, bug {kind}: the lines to replace occur exactly once"
    );
    let mut take = |mark| wordings.remove(&mark).unwrap_or_default();
    Bug {
        kind,
        code: code.replacen(&right, &wrong, 1),
        titles: take('t'),
        wrongs: take('w'),
        expected: take('e'),
    }
}

/// Values of the placeholders of one function.
#[derive(Clone, Default)]
pub(crate) struct Binding {
    values: BTreeMap<char, String>,
}

impl Binding {
    /// Sets the value of `$key`.
    pub(crate) fn set(&mut self, key: char, value: String) {
        self.values.insert(key, value);
    }

    /// The value of `$key`.
    ///
    /// # Panics
    /// If it was never set.
    pub(crate) fn get(&self, key: char) -> &str {
        self.values.get(&key).expect("placeholders are all bound")
    }

    /// Whether some placeholder has this value.
    pub(crate) fn holds(&self, value: &str) -> bool {
        self.values.values().any(|held| held == value)
    }

    /// `text` with every placeholder replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len() + 32);
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c == '$' {
                let key = rest.next().expect("a placeholder has a letter");
                filled += self.get(key);
            } else {
                filled.push(c);
            }
        }
        filled
    }
}

/// The placeholders of a text.
pub(crate) fn placeholders(text: &str) -> Vec<char> {
    let mut keys: Vec<char> =
        text.split('$').skip(1).filter_map(|part| part.chars().next()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_template_is_well_formed() {
        for language in [Language::Python, Language::Rust] {
            let templates = templates(language);
            let names: BTreeSet<&str> = templates.iter().map(|t| t.name).collect();
            assert_eq!(names.len(), templates.len(), "names are unique");
            for template in &templates {
                for bug in &template.bugs {
                    assert_ne!(bug.code, template.code, "{}", template.name);
                    for texts in [&bug.titles, &bug.wrongs, &bug.expected] {
                        assert!(texts.len() >= 2, "{} {}", template.name, bug.kind);
                        assert!(texts.iter().all(|text| !text.is_empty()));
                    }
                }
            }
        }
    }

    #[test]
    fn there_are_enough_kinds_of_bugs() {
        for (language, least) in [(Language::Python, 16), (Language::Rust, 15)] {
            let templates = templates(language);
            let kinds: BTreeSet<&str> =
                templates.iter().flat_map(|t| t.bugs.iter().map(|bug| bug.kind)).collect();
            assert!(kinds.len() >= least, "{kinds:?}");
        }
    }
}
