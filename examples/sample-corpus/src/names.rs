//! Names drawn from the word list: functions, files, packages and people, each used once.
//!
//! Functions, file stems and packages are unique over the whole corpus, which is what makes the
//! split by repository honest: no function name, file name or (template, name) pair can appear on
//! both sides. Local variables are drawn freely.

use std::collections::BTreeSet;

use crate::random::Stream;
use crate::words::{CONSTANT_WORDS, WORDS};

/// How short names must be; raised when a line came out too long.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// One to three words.
    Free,
    /// One or two words of at most six letters.
    Short,
    /// Words of at most four letters.
    Shortest,
}

impl Length {
    /// The length to ask for in the `attempt`-th try.
    pub(crate) fn of_attempt(attempt: usize) -> Self {
        match attempt {
            0..3 => Self::Free,
            3..8 => Self::Short,
            _ => Self::Shortest,
        }
    }

    fn letters(self) -> usize {
        match self {
            Self::Free => usize::MAX,
            Self::Short => 6,
            Self::Shortest => 4,
        }
    }
}

/// Words that mean something in a path: a curator would take `test_x.py` for a test and `vendor/` for
/// somebody else's code. Never drawn.
const TELLING: [&str; 2] = ["test", "vendor"];

/// One word of the list, of the length asked for.
pub(crate) fn word(stream: &mut Stream, length: Length) -> &'static str {
    loop {
        let word = stream.pick(WORDS);
        if word.len() <= length.letters() && !TELLING.contains(word) {
            return word;
        }
    }
}

fn words(stream: &mut Stream, count: usize, length: Length, separator: &str) -> String {
    let mut chosen: Vec<&str> = Vec::new();
    while chosen.len() < count {
        let word = word(stream, length);
        if !chosen.contains(&word) {
            chosen.push(word);
        }
    }
    chosen.join(separator)
}

/// A local variable: one word, sometimes two.
pub(crate) fn variable(stream: &mut Stream, length: Length) -> String {
    let two = matches!(length, Length::Free) && stream.chance(25);
    words(stream, 1 + usize::from(two), length, "_")
}

/// An upper-case constant name of two words out of [`CONSTANT_WORDS`].
pub(crate) fn constant(stream: &mut Stream) -> String {
    let first = *stream.pick(CONSTANT_WORDS);
    loop {
        let second = *stream.pick(CONSTANT_WORDS);
        if first != second {
            return format!("{first}_{second}");
        }
    }
}

/// The names given out so far.
#[derive(Default)]
pub(crate) struct NamePool {
    functions: BTreeSet<String>,
    stems: BTreeSet<String>,
    people: BTreeSet<String>,
}

impl NamePool {
    fn unused(taken: &mut BTreeSet<String>, mut draw: impl FnMut() -> String) -> String {
        loop {
            let name = draw();
            if taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// A function name nobody has: mostly two words, sometimes one or three.
    pub(crate) fn function(&mut self, stream: &mut Stream, length: Length) -> String {
        Self::unused(&mut self.functions, || {
            let count = match (stream.below(100), length) {
                (0..3, _) => 1,
                (85.., Length::Free) => 3,
                _ => 2,
            };
            words(stream, count, length, "_")
        })
    }

    /// Gives a function name back that was drawn but not used.
    pub(crate) fn release_function(&mut self, name: &str) {
        self.functions.remove(name);
    }

    /// A file stem nobody has, of two words.
    pub(crate) fn stem(&mut self, stream: &mut Stream) -> String {
        Self::unused(&mut self.stems, || words(stream, 2, Length::Short, "_"))
    }

    /// A package (folder) name nobody has, of one word.
    pub(crate) fn package(&mut self, stream: &mut Stream) -> String {
        Self::unused(&mut self.stems, || words(stream, 1, Length::Short, "_"))
    }

    /// A repository name `owner/name` whose parts nobody has.
    pub(crate) fn repository(&mut self, stream: &mut Stream) -> String {
        let owner = Self::unused(&mut self.people, || words(stream, 2, Length::Short, "-"));
        let name = Self::unused(&mut self.stems, || words(stream, 2, Length::Short, "-"));
        format!("{owner}/{name}")
    }

    /// A login nobody has.
    pub(crate) fn login(&mut self, stream: &mut Stream) -> String {
        Self::unused(&mut self.people, || words(stream, 2, Length::Free, "-"))
    }
}
