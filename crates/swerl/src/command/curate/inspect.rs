//! `swerl curate inspect`: one seed for the eyes.
//!
//! Seeds hold text of strangers: control characters are shown as pictures, so that none reaches
//! the terminal as a command.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};

use anyhow::{Context, Result, bail};
use swerl::data::{FileRole, IssueSource, SeedExample, patch::seed_patch, read_seeds, tokens};

use crate::cli::{Colour, InspectArgs};

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Runs the command.
pub(super) fn run(args: &InspectArgs) -> Result<()> {
    let seeds = read_seeds(&args.seeds)?;
    let found = seeds.iter().find(|seed| seed.id == args.seed).or_else(|| {
        let place: usize = args.seed.parse().ok()?;
        seeds.get(place.checked_sub(1)?)
    });
    let Some(seed) = found else {
        let some: Vec<&str> = seeds.iter().take(3).map(|seed| seed.id.as_str()).collect();
        bail!(
            "{}: no seed '{}' among {} (such as {})",
            args.seeds.display(),
            args.seed,
            seeds.len(),
            some.join(", ")
        );
    };
    let coloured = match args.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => env::var_os("NO_COLOR").is_none() && io::stdout().is_terminal(),
    };
    let text = Page { coloured, text: String::new() }.of(seed, args.full);
    io::stdout().write_all(text.as_bytes()).context("cannot write standard output")
}

struct Page {
    coloured: bool,
    text: String,
}

impl Page {
    fn of(mut self, seed: &SeedExample, full: bool) -> String {
        self.line(BOLD, &format!("{}  {}", seed.id, seed.title));
        let merged = seed.merged_at.as_deref().unwrap_or("at an unknown time");
        self.line(DIM, &format!("base {}  head {}", seed.base_commit, seed.head_commit));
        self.line(DIM, &format!("merged {merged}"));
        let source = match (seed.issue.source, seed.issue.number) {
            (IssueSource::LinkedIssue, Some(number)) => format!("issue #{number}"),
            (IssueSource::LinkedIssue, None) => "issue".to_owned(),
            (IssueSource::CommitMessage, _) => "commit message in place of an issue".to_owned(),
        };
        self.heading(&source);
        self.block("", &seed.issue_text());
        self.heading("files");
        for file in &seed.files {
            let role = match file.role {
                FileRole::Edit => "edit    ",
                FileRole::Relevant => "relevant",
            };
            let size = tokens::estimate_tokens(&file.text);
            let lines = file.text.lines().count();
            self.line("", &format!("{role} {}  {lines} lines, about {size} tokens", file.path));
        }
        for path in seed.oracle.keys().filter(|path| seed.files.iter().all(|f| f.path != **path)) {
            self.line("", &format!("new      {path}"));
        }
        if full {
            for file in &seed.files {
                self.heading(&file.path);
                self.block("", &file.text);
            }
        }
        self.heading("oracle");
        for line in seed_patch(seed).lines() {
            let style = match line.as_bytes().first() {
                _ if line.starts_with("+++ ") || line.starts_with("--- ") => BOLD,
                Some(b'+') => GREEN,
                Some(b'-') => RED,
                Some(b'@') => CYAN,
                Some(b' ' | b'\\') => "",
                _ => DIM,
            };
            self.line(style, line);
        }
        self.text
    }

    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.line(BOLD, &format!("== {text}"));
    }

    fn block(&mut self, style: &str, text: &str) {
        text.lines().for_each(|line| self.line(style, line));
    }

    fn line(&mut self, style: &str, text: &str) {
        let safe: String = text.chars().map(visible).collect();
        // Writing to a string cannot fail.
        let _ = if self.coloured && !style.is_empty() {
            writeln!(self.text, "{style}{safe}{PLAIN}")
        } else {
            writeln!(self.text, "{safe}")
        };
    }
}

/// A control character's picture; everything else, and the tab, as it is.
fn visible(letter: char) -> char {
    match letter {
        '\t' => letter,
        '\0'..='\x1f' => char::from_u32(0x2400 + letter as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        // C1 controls, and the marks that turn the direction of writing.
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_reaches_the_terminal() {
        let text: String = "a\x1b[2J\tb\u{9b}\u{202e}é".chars().map(visible).collect();
        assert_eq!(text, "a\u{241b}[2J\tb\u{fffd}\u{fffd}é");
    }
}
