//! The two built-in prompt templates.
//!
//! [`Template::SweRl`] is a conversation for instruction-tuned models: the rules, the issue, the
//! files, the six parts of an edit, one worked example, two reminders. [`Template::Compact`] is
//! for small base models that learn the task from examples: marks, issue, files and nothing else.
//! The answer grammar is imported from [`swerl_reward::format`]; a test scores the worked example,
//! cut out of the prompt, against it. The structure is that of SWE-RL (arXiv:2502.18449, fig. 2);
//! the words are ours.

use serde::{Deserialize, Serialize};
use swerl_reward::format::{
    DIVIDER, Edit, FENCE, PATH_PREFIX, REPLACE_MARK, SEARCH_MARK, SOLUTION_CLOSE, SOLUTION_OPEN,
    THINK_CLOSE, THINK_OPEN, render_edit,
};

use super::chat::{ChatMarkup, Message, Piece, Role};

/// How a seed is put to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Template {
    /// System and user message with all rules spelled out. For instruction-tuned models.
    SweRl,
    /// Issue and files between marks, then the mark of the answer. For small base models.
    Compact,
}

impl Template {
    /// The messages for an issue and `(path, text)` files; `None` where the template has no turns.
    #[must_use]
    pub fn messages(self, issue: &str, files: &[(&str, &str)]) -> Option<Vec<Message>> {
        match self {
            Self::SweRl => Some(vec![
                Message { role: Role::System, content: system() },
                Message { role: Role::User, content: user(issue, files) },
            ]),
            Self::Compact => None,
        }
    }

    /// The whole prompt, ready to be continued by the answer.
    #[must_use]
    pub fn pieces(self, markup: &ChatMarkup, issue: &str, files: &[(&str, &str)]) -> Vec<Piece> {
        match self.messages(issue, files) {
            Some(messages) => markup.pieces(&messages),
            None => vec![Piece::Text(compact(issue, files))],
        }
    }
}

fn compact(issue: &str, files: &[(&str, &str)]) -> String {
    let issue = issue.trim_end();
    let files: String = files.iter().map(section).collect();
    format!("<issue>\n{issue}\n</issue>\n{files}<answer>\n")
}

/// `### path`, then the text, ended by a line feed.
fn section((path, text): &(&str, &str)) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{PATH_PREFIX}{path}\n{text}{end}")
}

fn system() -> String {
    format!(
        "You repair software. Reason on paper before you commit to a change: collect evidence, try \
         ideas and drop the bad ones, at whatever length it takes. Write the change down only once \
         you trust it. Reply with the two sections below and use each of their four tags exactly \
         once.\n\n\
         {THINK_OPEN}\n(your reasoning)\n{THINK_CLOSE}\n\
         {SOLUTION_OPEN}\n(your change)\n{SOLUTION_CLOSE}"
    )
}

fn user(issue: &str, files: &[(&str, &str)]) -> String {
    let issue = issue.trim_end();
    let files: Vec<String> = files.iter().map(section).collect();
    let files = files.join("\n");
    let example = worked_example();
    format!(
        "Somebody reported the following about a code base.\n\n\
         --- BEGIN ISSUE ---\n{issue}\n--- END ISSUE ---\n\n\
         Here are files of that code base which may be involved; not each of them has to change.\n\n\
         --- BEGIN FILE ---\n{FENCE}\n{files}{FENCE}\n--- END FILE ---\n\n\
         Find out first where the cause lies: which file, which function, which lines. Then give \
         the change that resolves the report as *SEARCH/REPLACE* edits in the solution section.\n\n\
         An edit has six parts, each starting on a line of its own:\n\
         1. `{PATH_PREFIX}` and the path of the file, spelled as above\n\
         2. `{SEARCH_MARK}`\n\
         3. the lines to be changed, copied from the file without any difference\n\
         4. `{DIVIDER}`\n\
         5. the lines that take their place\n\
         6. `{REPLACE_MARK}`\n\n\
         For example:\n\n{example}\n\n\
         Indentation counts: give every line its full leading white space, in part 3 as in part 5. \
         Put each edit into a code fence of its own, as in the example."
    )
}

/// The worked example, in its fence.
pub(super) fn worked_example() -> String {
    render_edit(&example(), "python")
}

/// The worked example's edit.
fn example() -> Edit {
    Edit {
        path: "shop/stock.py".to_owned(),
        search: "    return total + reserved".to_owned(),
        replace: "    return total - reserved".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn text(template: Template, issue: &str, files: &[(&str, &str)]) -> String {
        Piece::text(&template.pieces(&ChatMarkup::plain(), issue, files))
    }

    fn file(line: &str) -> BTreeMap<String, String> {
        let text = format!("def available(total, reserved):\n{line}\n");
        BTreeMap::from([("shop/stock.py".to_owned(), text)])
    }

    #[test]
    fn the_worked_example_as_printed_scores_one() {
        let prompt = text(Template::SweRl, "Broken.", &[("a.py", "x = 1")]);
        let (_, example) = prompt.split_once("For example:\n\n").expect("an example");
        let (example, _) = example.split_once("\n\nIndentation").expect("its end");
        let answer = format!(
            "{THINK_OPEN}\nReserved items are not available.\n{THINK_CLOSE}\n\
             {SOLUTION_OPEN}\n{example}\n{SOLUTION_CLOSE}"
        );
        let (old, new) = (file("    return total + reserved"), file("    return total - reserved"));
        let score = swerl_reward::score_search_replace(&old, &new, &answer);
        assert_eq!(score.reward, 1.0, "{score:?}");
    }

    #[test]
    fn the_rules_name_every_mark_of_the_grammar() {
        let text = text(Template::SweRl, "i", &[]);
        for mark in [
            THINK_OPEN,
            THINK_CLOSE,
            SOLUTION_OPEN,
            SOLUTION_CLOSE,
            PATH_PREFIX,
            SEARCH_MARK,
            DIVIDER,
            REPLACE_MARK,
        ] {
            assert!(text.contains(mark), "{mark}");
        }
    }

    #[test]
    fn files_are_whole_and_end_their_lines() {
        let files = [("a.py", "x = 1"), ("b.py", "y = 2\n"), ("c.py", "")];
        assert_eq!(
            text(Template::Compact, "Title\n\nBody\n", &files),
            "<issue>\nTitle\n\nBody\n</issue>\n### a.py\nx = 1\n### b.py\ny = 2\n### c.py\n<answer>\n"
        );
        let text = text(Template::SweRl, "Title", &files);
        let fence = "```\n### a.py\nx = 1\n\n### b.py\ny = 2\n\n### c.py\n```\n--- END FILE ---";
        assert!(text.contains(fence), "{text}");
    }
}
