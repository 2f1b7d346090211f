//! Tags and thought: rules R1, R2 and R4.
//!
//! R1: each tag occurs exactly once in the whole output. Order and nesting are free; where a
//! closing tag came before its opening one, the text runs to the end. R2: the trimmed thought
//! is not empty. R4: the solution holds at least one edit. Linear in the output.

use super::{
    Answer, Edit, SOLUTION_CLOSE, SOLUTION_OPEN, TAGS, THINK_CLOSE, THINK_OPEN, edit_blocks,
};

/// Which rule of the format an output broke. The first one that fails is named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatFailure {
    /// R1: a tag does not occur exactly once. An output cut by a length limit lacks `</solution>`.
    #[error("the tag {tag} must occur exactly once, it occurs {count} times")]
    Tags {
        /// The first tag, in the order of [`TAGS`], whose count is wrong.
        tag: &'static str,
        /// How often it occurs: 0 or at least 2.
        count: usize,
    },
    /// R2: nothing but white space between the thought's tags.
    #[error("the thought is empty")]
    EmptyThought,
    /// R4: no part of the solution matches the grammar of an edit.
    #[error("the solution holds no edit that matches the search/replace grammar")]
    NoEdits,
}

/// Reads an answer, rules R1 to R4.
///
/// # Errors
/// The first rule that the output breaks. This never panics, whatever the text.
///
/// ```
/// use swerl_reward::format::{FormatFailure, parse_answer};
/// assert_eq!(parse_answer("<think>a</think>"), Err(FormatFailure::Tags { tag: "<solution>", count: 0 }));
/// ```
pub fn parse_answer(output: &str) -> Result<Answer, FormatFailure> {
    let (thought, solution) = split_answer(output)?;
    let edits: Vec<Edit> = edit_blocks(solution).collect();
    if edits.is_empty() {
        return Err(FormatFailure::NoEdits);
    }
    Ok(Answer { thought: thought.to_owned(), edits })
}

/// R1 and R2: the trimmed thought and solution of an output.
pub(crate) fn split_answer(output: &str) -> Result<(&str, &str), FormatFailure> {
    for tag in TAGS {
        let count = output.matches(tag).count();
        if count != 1 {
            return Err(FormatFailure::Tags { tag, count });
        }
    }
    let thought = between(output, THINK_OPEN, THINK_CLOSE);
    if thought.is_empty() {
        return Err(FormatFailure::EmptyThought);
    }
    Ok((thought, between(output, SOLUTION_OPEN, SOLUTION_CLOSE)))
}

/// The trimmed text after `open` up to the first `close` behind it, or to the end.
fn between<'a>(output: &'a str, open: &str, close: &str) -> &'a str {
    let after = output.split_once(open).map_or("", |(_, after)| after);
    let inside = after.split_once(close).map_or(after, |(inside, _)| inside);
    inside.trim_matches(is_python_space)
}

/// White space as Python's `str.strip` knows it: Unicode's, and U+001C to U+001F.
pub(crate) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
