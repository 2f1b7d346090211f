//! The grammar of edits: rule R3, scanned by hand in linear time.
//!
//! ````text
//! ``` info LF ### PATH LF <<<<<<< SEARCH LF S LF ======= LF R LF >>>>>>> REPLACE LF ```
//! ````
//! Leftmost and lazy: S ends at the first divider line behind it, R at the first closing
//! sequence behind that. Only LF ends a line, a fence may open anywhere in its line, and a
//! marker with anything before or after it on its line is none. An empty S or R has an empty
//! line of its own. What matches nothing is passed over.
//!
//! Why one pass is enough: if the first divider behind a head, or the first closing behind
//! that divider, does not exist, then neither does it behind any later head.

use super::{DIVIDER, Edit, FENCE, PATH_PREFIX, REPLACE_MARK, SEARCH_MARK};

/// Iterates over the edits of a solution; see [`edit_blocks`].
#[derive(Clone, Debug)]
pub struct EditBlocks<'a> {
    text: &'a str,
    at: usize,
}

/// The edits of a solution text in order, rule R3. Linear in the text over the whole iteration.
///
/// ````
/// use swerl_reward::format::edit_blocks;
/// let text = "```\n### a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```";
/// let edits: Vec<_> = edit_blocks(text).collect();
/// assert_eq!((edits[0].path.as_str(), edits[0].search.as_str()), ("a.py", "x = 1"));
/// ````
#[must_use]
pub fn edit_blocks(solution: &str) -> EditBlocks<'_> {
    EditBlocks { text: solution, at: 0 }
}

impl Iterator for EditBlocks<'_> {
    type Item = Edit;

    fn next(&mut self) -> Option<Edit> {
        let (path, body) = self.head()?;
        let found = self.body(body);
        let Some((search, replace, end)) = found else {
            self.at = self.text.len();
            return None;
        };
        self.at = end;
        Some(Edit { path: path.to_owned(), search: search.to_owned(), replace: replace.to_owned() })
    }
}

impl<'a> EditBlocks<'a> {
    /// The next head: its path and where its body begins. Moves on line by line.
    fn head(&mut self) -> Option<(&'a str, usize)> {
        loop {
            let fence = self.at + self.text[self.at..].find(FENCE)?;
            let line_end = fence + self.text[fence..].find('\n')?;
            // All fences of one line share the lines below it, so the next try is in the next line.
            self.at = line_end + 1;
            let Some(path) = self.text[self.at..].strip_prefix(PATH_PREFIX) else { continue };
            let Some((path, below)) = path.split_once('\n') else { continue };
            let Some(body) =
                below.strip_prefix(SEARCH_MARK).and_then(|rest| rest.strip_prefix('\n'))
            else {
                continue;
            };
            return Some((path, self.text.len() - body.len()));
        }
    }

    /// Search, replacement and the end of the block whose body begins at `start`.
    fn body(&self, start: usize) -> Option<(&'a str, &'a str, usize)> {
        let (search, replace_start) = until(self.text, start, DIVIDER, "\n")?;
        let (replace, end) = until(self.text, replace_start, REPLACE_MARK, "\n```")?;
        Some((search, replace, end))
    }
}

/// The text from `start` up to the first LF + `mark` + `after`, and the end of that sequence.
fn until<'a>(text: &'a str, start: usize, mark: &str, after: &str) -> Option<(&'a str, usize)> {
    let mut from = start;
    loop {
        let line_feed = from + text[from..].find('\n')?;
        from = line_feed + 1;
        let rest = text[from..].strip_prefix(mark).and_then(|rest| rest.strip_prefix(after));
        if let Some(rest) = rest {
            return Some((&text[start..line_feed], text.len() - rest.len()));
        }
    }
}
