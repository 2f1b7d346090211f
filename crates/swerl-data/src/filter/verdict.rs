//! The filters that need no git, put in order.

use super::data_file::is_data_file;
use super::hunk::{ChangedFile, RULES, all_flagged};
use super::tests_only::is_test_file;
use super::{DropReason, FilterOptions, author, merge_of_target, revert, size};
use crate::language::is_programming_file;

/// What people, or programs, wrote about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words<'a> {
    /// The author's account, or `Name <address>` of a commit.
    pub author: &'a str,
    /// Whether the account is of type `Bot`.
    pub author_is_bot: bool,
    /// The title.
    pub title: &'a str,
    /// The description.
    pub body: &'a str,
}

/// The first check that the words fail.
#[must_use]
pub fn judge_words(words: &Words<'_>) -> Option<DropReason> {
    if author::is_automated(words.author, words.author_is_bot, words.title, words.body) {
        return Some(DropReason::Bot);
    }
    if merge_of_target::is_merge_title(words.title) {
        return Some(DropReason::MergeOfTarget);
    }
    revert::is_revert(words.title, words.body).then_some(DropReason::Revert)
}

/// The first check that the changed paths fail, before any text is read.
#[must_use]
pub fn judge_paths(paths: &[&str], options: &FilterOptions) -> Option<DropReason> {
    if paths.is_empty() {
        return Some(DropReason::EmptyChange);
    }
    if paths.len() > options.max_files {
        return Some(DropReason::TooManyFiles);
    }
    let mut counts = [0_usize; RULES.len()];
    let (mut flagged, mut data) = (0, 0);
    for path in paths {
        // Texts that no rule but those of the path looks at.
        let file = ChangedFile { path, old: "", new: "\n" };
        if let Some(rule) = RULES.iter().position(|rule| (rule.file)(&file)) {
            counts[rule] += 1;
            flagged += 1;
        } else if is_data_file(path) {
            data += 1;
        }
    }
    if flagged + data == paths.len() {
        // Data files may hold nothing but changed version numbers: their texts tell.
        let most = counts.iter().copied().max().filter(|_| data == 0)?;
        return counts.iter().position(|&count| count == most).map(|rule| RULES[rule].reason);
    }
    let is_program = |path: &&str| is_programming_file(path) && !is_test_file(path);
    (!paths.iter().any(is_program)).then_some(DropReason::NoProgrammingFile)
}

/// The first check that the texts of a change fail.
#[must_use]
pub fn judge_texts(files: &[ChangedFile<'_>], options: &FilterOptions) -> Option<DropReason> {
    let changed: Vec<&ChangedFile<'_>> = files.iter().filter(|file| file.old != file.new).collect();
    if changed.is_empty() {
        return Some(DropReason::EmptyChange);
    }
    let lines: usize = changed.iter().map(|file| size::changed_lines(file.old, file.new)).sum();
    if lines > options.max_changed_lines {
        return Some(DropReason::TooLarge);
    }
    all_flagged(files)
}
