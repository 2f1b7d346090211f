//! The comments of an issue that were made before the fix was proposed, as part of its text.
//!
//! Later comments leak the solution and never enter a seed. Comments of programs, and those that
//! do nothing but agree, are left out.

use crate::filter::author::is_bot_account;
use crate::pull_request::Comment;

/// How much is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentOptions {
    /// The most bytes of all comments of an issue together; a comment that does not fit ends the
    /// list. Usual: 8,192; 0 adds none.
    pub max_bytes: usize,
}

impl Default for CommentOptions {
    fn default() -> Self {
        Self { max_bytes: 8_192 }
    }
}

/// The body with its comments below, in order of time, and whether there are any.
///
/// Each comment begins with a line `Comment by NAME:`.
pub(crate) fn with_comments(
    body: &str,
    comments: &[&Comment],
    options: CommentOptions,
) -> (String, bool) {
    let mut text = body.trim_end().to_owned();
    let mut room = options.max_bytes;
    let mut any = false;
    for comment in comments {
        let words = comment.body.trim();
        if words.is_empty()
            || is_bot_account(&comment.author, comment.author_is_bot)
            || is_noise(words)
        {
            continue;
        }
        let author = if comment.author.is_empty() { "ghost" } else { &comment.author };
        let part = format!("Comment by {author}:\n{words}");
        if part.len() > room {
            break;
        }
        room -= part.len();
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&part);
        any = true;
    }
    if any { (text, true) } else { (body.to_owned(), false) }
}

/// `+1`, `me too`, a lone emoji: at most three words without a letter of substance.
fn is_noise(words: &str) -> bool {
    let lower = words.to_lowercase();
    let plain = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != '+');
    plain.is_empty()
        || matches!(
            plain,
            "+1" | "me too" | "same here" | "same" | "bump" | "ping" | "any update" | "any updates"
        )
}

#[cfg(test)]
mod tests {
    use super::{CommentOptions, with_comments};
    use crate::pull_request::Comment;

    fn comment(author: &str, body: &str) -> Comment {
        Comment { author: author.to_owned(), author_is_bot: false, body: body.to_owned() }
    }

    #[test]
    fn order_noise_and_room() {
        let list = [
            comment("bob", "It happens on Linux too."),
            comment("eve", "+1"),
            comment("helper-bot", "Thank you for the report!"),
            comment("", "Only with Python 3.8.\n"),
            comment("zoe", &"long ".repeat(100)),
            comment("kim", "short"),
        ];
        let list: Vec<&Comment> = list.iter().collect();
        let (text, any) = with_comments("Body.\n", &list, CommentOptions { max_bytes: 200 });
        assert_eq!(
            text,
            "Body.\n\nComment by bob:\nIt happens on Linux too.\n\nComment by ghost:\nOnly with Python 3.8."
        );
        assert!(any);
        assert_eq!(
            with_comments("Body.\n", &list, CommentOptions { max_bytes: 0 }),
            ("Body.\n".to_owned(), false)
        );
        assert_eq!(with_comments("", &[], CommentOptions::default()), (String::new(), false));
    }
}
