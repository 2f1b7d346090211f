//! The prompt of exported rows: issue, files, and how an answer is written.
//!
//! Marks and tags are those of `swerl_reward::format`, which reads the answer.

use std::fmt::Write;

use swerl::{
    data::{SeedExample, interop::Message},
    reward::format::{
        DIVIDER, Edit, FENCE, PATH_PREFIX, REPLACE_MARK, SEARCH_MARK, SOLUTION_CLOSE,
        SOLUTION_OPEN, THINK_CLOSE, THINK_OPEN, render_edit,
    },
};

/// A system and a user message.
pub(super) fn messages(seed: &SeedExample) -> Vec<Message> {
    let system = format!(
        "You repair code. Think first, as long as you like, between {THINK_OPEN} and {THINK_CLOSE}; \
         then give the edits between {SOLUTION_OPEN} and {SOLUTION_CLOSE}. Write each of the four \
         tags exactly once."
    );
    let example = Edit {
        path: "pkg/area.py".to_owned(),
        search: "    return width + height".to_owned(),
        replace: "    return width * height".to_owned(),
    };
    let example = render_edit(&example, "python");
    let mut user = String::from("Resolve this issue.\n\n--- BEGIN ISSUE ---\n");
    let _ = write!(user, "{}\n--- END ISSUE ---\n\n", seed.issue_text());
    user.push_str("These files of the repository may matter; not all of them need a change.\n\n");
    let _ = write!(user, "--- BEGIN FILE ---\n{FENCE}\n");
    for (number, file) in seed.files.iter().enumerate() {
        let blank = if number == 0 { "" } else { "\n" };
        let end = if file.text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(user, "{blank}{PATH_PREFIX}{}\n{}{end}", file.path, file.text);
    }
    let _ = write!(
        user,
        "{FENCE}\n--- END FILE ---\n\n\
         Find the places to change, then write search/replace edits, each in a fence of its own:\n\
         {PATH_PREFIX} and the path; {SEARCH_MARK}; whole lines of the file, copied exactly with \
         their indentation; {DIVIDER}; the lines to put there; {REPLACE_MARK}. For example:\n\n\
         {example}\n"
    );
    vec![
        Message { role: "system".to_owned(), content: system },
        Message { role: "user".to_owned(), content: user },
    ]
}
