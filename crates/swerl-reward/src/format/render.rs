//! Writing answers: the inverse of the parser for every edit the format can express.
//!
//! It cannot express a path with a line break, nor texts that themselves hold one of the four
//! tags, a divider line in the search text (below its first line), or a closing sequence in
//! the replacement. Such edits are written all the same and read back otherwise.

use super::{DIVIDER, Edit, FENCE, PATH_PREFIX, REPLACE_MARK, SEARCH_MARK, TAGS};

/// One edit in its fence; `info` is the info string behind the opening fence ("" or "python").
#[must_use]
pub fn render_edit(edit: &Edit, info: &str) -> String {
    let Edit { path, search, replace } = edit;
    format!(
        "{FENCE}{info}\n{PATH_PREFIX}{path}\n{SEARCH_MARK}\n{search}\n{DIVIDER}\n{replace}\n{REPLACE_MARK}\n{FENCE}"
    )
}

/// All edits, one blank line between them.
#[must_use]
pub fn render_edits(edits: &[Edit], info: &str) -> String {
    let blocks: Vec<String> = edits.iter().map(|edit| render_edit(edit, info)).collect();
    blocks.join("\n\n")
}

/// A whole answer: the thought, then the edits, each between its tags.
///
/// ```
/// use swerl_reward::format::{Edit, parse_answer, render_answer};
/// let edit = Edit { path: "a.py".into(), search: "x = 1".into(), replace: "x = 2".into() };
/// let text = render_answer("x is off by one", std::slice::from_ref(&edit));
/// assert_eq!(parse_answer(&text).unwrap().edits, [edit]);
/// ```
#[must_use]
pub fn render_answer(thought: &str, edits: &[Edit]) -> String {
    let [think_open, think_close, solution_open, solution_close] = TAGS;
    let edits = render_edits(edits, "");
    format!("{think_open}\n{thought}\n{think_close}\n{solution_open}\n{edits}\n{solution_close}")
}
