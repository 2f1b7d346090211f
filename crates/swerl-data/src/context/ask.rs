//! Asking a model which unmodified files belong to a change: the prompt and the reading of the
//! answer. Who samples the answer is the caller's business.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{RelevantFiles, RelevantRequest};
use crate::context::folder_of;

/// Paths listed in a prompt, the nearest to the edited files first.
const MOST_PATHS: usize = 400;
/// Bytes of a description shown.
const MOST_BODY: usize = 4_000;

/// Chooses files by asking a model, given as a function from prompt to answer. `None` from the
/// function, or an answer without a known path, leaves the choice to the rankings.
#[derive(Debug, Clone, Copy)]
pub struct AskModel<F>(pub F);

impl<F: Fn(&str) -> Option<String> + Sync> RelevantFiles for AskModel<F> {
    fn choose(&self, request: &RelevantRequest<'_>) -> Option<Vec<String>> {
        let answer = (self.0)(&relevant_files_prompt(request))?;
        Some(parse_relevant_files(&answer, request.tree))
    }
}

/// The question for one change. It shows the description and the edited paths, not the change.
#[must_use]
pub fn relevant_files_prompt(request: &RelevantRequest<'_>) -> String {
    let mut text = String::from(
        "A change to a repository is described below, with the files that it edits. Name the other \
         files that an engineer would open to understand or check this change: callers, callees, \
         definitions of the types involved, sibling implementations.\n\n",
    );
    let _ = writeln!(text, "Title: {}", one_line(request.title));
    let _ = writeln!(text, "Description:\n{}\n", shortened(request.body));
    let _ = writeln!(text, "Issue:\n{}\n", shortened(request.issue));
    text.push_str("Edited files:\n");
    for path in request.changed {
        let _ = writeln!(text, "- {path}");
    }
    text.push_str("\nOther files of the repository:\n");
    for path in nearest(request) {
        let _ = writeln!(text, "- {path}");
    }
    text.push_str(
        "\nAnswer with up to five paths from the second list, one a line, the most useful first, \
         and nothing else. If none helps, answer \"none\".\n",
    );
    text
}

/// The paths of `tree` that an answer names, in its order, each once. List marks, numbering,
/// backticks and words around a path are passed over.
#[must_use]
pub fn parse_relevant_files(answer: &str, tree: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '*' | ',' | '(' | ')');
    for word in answer.split(is_mark) {
        let word = word.trim_start_matches("./").trim_end_matches(['.', ':', ';']);
        let place = tree.binary_search_by(|path| path.as_str().cmp(word));
        if let Ok(place) = place
            && !found.contains(&tree[place])
        {
            found.push(tree[place].clone());
        }
    }
    found
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> &str {
    let end = (0..=MOST_BODY.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].trim()
}

/// Files of the edited folders first, then all others, each by path.
fn nearest<'a>(request: &RelevantRequest<'a>) -> impl Iterator<Item = &'a String> {
    let homes: BTreeSet<&str> = request.changed.iter().map(|path| folder_of(path)).collect();
    let (near, far): (Vec<&String>, Vec<&String>) =
        request.tree.iter().partition(|path| homes.contains(folder_of(path)));
    near.into_iter().chain(far).take(MOST_PATHS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{AskModel, parse_relevant_files, relevant_files_prompt};
    use crate::context::{RelevantFiles, RelevantRequest};

    #[test]
    fn asks_and_reads() {
        let changed = BTreeSet::from(["src/b/edited.py".to_owned()]);
        let tree = ["src/a/x.py", "src/b/y.py", "src/c/z.py"].map(str::to_owned);
        let request = RelevantRequest {
            issue: "It fails",
            title: "Fix\nit",
            body: &"é".repeat(4_000),
            changed: &changed,
            edited: &[],
            tree: &tree,
        };
        let prompt = relevant_files_prompt(&request);
        assert!(prompt.contains("Title: Fix it\n") && prompt.contains("- src/b/edited.py\n"));
        assert!(prompt.find("- src/b/y.py") < prompt.find("- src/a/x.py"));
        assert!(prompt.len() < 6_000, "the description is cut: {}", prompt.len());
        let model =
            AskModel(|_: &str| Some("1. `src/c/z.py`\n- ./src/a/x.py.\nother.py".to_owned()));
        assert_eq!(model.choose(&request).unwrap(), ["src/c/z.py", "src/a/x.py"]);
        assert_eq!(parse_relevant_files("none", &tree), Vec::<String>::new());
        assert_eq!(AskModel(|_: &str| None).choose(&request), None);
    }
}
