//! Applying edits: rule R5.
//!
//! Edits are grouped by path in order of first appearance and applied in order, each on the
//! result of the one before. The working text is LF + file text (a missing file is empty);
//! LF + search must occur in it, and every non-overlapping occurrence becomes LF + replace.
//! So a match starts at a line start but may end inside a line. An empty search text stands
//! before every line of an existing file, and creates a missing one. One bad edit fails all.
//!
//! Paths are only keys: nothing here touches a file system, and `..`, absolute paths or NUL in
//! a path name a file that the context does not have.

use std::collections::{BTreeMap, HashMap};

use crate::format::Edit;
use crate::limits::{Limit, Limits};

/// Why edits could not be applied; the first failure in the order of application.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyFailure {
    /// Search and replacement are equal. Checked before looking for the text.
    #[error("edit {index} of {path:?}: the search text equals its replacement")]
    SearchEqualsReplace {
        /// The file named by the edit.
        path: String,
        /// Position of the edit in the answer, from 0.
        index: usize,
    },
    /// The search text does not begin any line of the working text.
    #[error("edit {index} of {path:?}: the search text is not in the file")]
    SearchNotFound {
        /// The file named by the edit.
        path: String,
        /// Position of the edit in the answer, from 0.
        index: usize,
    },
    /// The edits would cost more than the limits allow.
    #[error("edit {index} of {path:?}: passes the limit {limit}")]
    LimitPassed {
        /// The file named by the edit.
        path: String,
        /// Position of the edit in the answer, from 0.
        index: usize,
        /// The limit.
        limit: Limit,
    },
}

/// The new texts of the paths that the edits name, rule R5, under the default [`Limits`].
///
/// # Errors
/// The first edit that cannot be applied.
///
/// ```
/// use std::collections::BTreeMap;
/// use swerl_reward::{apply_edits, format::Edit};
/// let context = BTreeMap::from([("a.py".to_owned(), "x = 1\ny = x\n".to_owned())]);
/// let edit = Edit { path: "a.py".into(), search: "x = 1".into(), replace: "x = 2".into() };
/// assert_eq!(apply_edits(&context, &[edit]).unwrap()["a.py"], "x = 2\ny = x\n");
/// ```
pub fn apply_edits(
    context: &BTreeMap<String, String>,
    edits: &[Edit],
) -> Result<BTreeMap<String, String>, ApplyFailure> {
    apply_edits_within(context, edits, &Limits::default())
}

/// [`apply_edits`] under given limits.
///
/// # Errors
/// The first edit that cannot be applied, or that passes a limit.
pub fn apply_edits_within(
    context: &BTreeMap<String, String>,
    edits: &[Edit],
    limits: &Limits,
) -> Result<BTreeMap<String, String>, ApplyFailure> {
    run(context, edits, limits, || false).map_err(|stopped| stopped.failure)
}

/// A failure with the working text of its file at that moment, for explanations.
pub(crate) struct Stopped {
    pub(crate) failure: ApplyFailure,
    pub(crate) working: String,
}

/// Applies the edits; asks before each one whether it is `late`, and then fails in any way.
pub(crate) fn run(
    context: &BTreeMap<String, String>,
    edits: &[Edit],
    limits: &Limits,
    mut late: impl FnMut() -> bool,
) -> Result<BTreeMap<String, String>, Stopped> {
    // Edit numbers by path; the map is only looked up, the order is that of `groups`.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_path: HashMap<&str, usize> = HashMap::new();
    for (index, edit) in edits.iter().enumerate() {
        let group = *of_path.entry(edit.path.as_str()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(index);
    }
    let mut searched = 0;
    let mut changed = BTreeMap::new();
    for group in groups {
        let path = &edits[group[0]].path;
        let text = context.get(path).map_or("", String::as_str);
        let most = text.len().saturating_add(limits.growth_bytes);
        let mut working = format!("\n{text}");
        for index in group {
            searched += working.len();
            let result = if searched > limits.searched_bytes || late() {
                Err(Fault::Limit(Limit::SearchedBytes))
            } else {
                apply_one(&working, &edits[index], most)
            };
            working = result.map_err(|fault| fault.stop(path, index, working))?;
        }
        working.remove(0);
        changed.insert(path.clone(), working);
    }
    Ok(changed)
}

enum Fault {
    Equal,
    NotFound,
    Limit(Limit),
}

impl Fault {
    fn stop(self, path: &str, index: usize, working: String) -> Stopped {
        let path = path.to_owned();
        let failure = match self {
            Self::Equal => ApplyFailure::SearchEqualsReplace { path, index },
            Self::NotFound => ApplyFailure::SearchNotFound { path, index },
            Self::Limit(limit) => ApplyFailure::LimitPassed { path, index, limit },
        };
        Stopped { failure, working }
    }
}

fn apply_one(working: &str, edit: &Edit, most: usize) -> Result<String, Fault> {
    if edit.search == edit.replace {
        return Err(Fault::Equal);
    }
    let needle = format!("\n{}", edit.search);
    let mut result = String::with_capacity(working.len());
    let mut from = 0;
    for (at, _) in working.match_indices(&needle) {
        result.push_str(&working[from..=at]);
        result.push_str(&edit.replace);
        from = at + needle.len();
        if result.len() > most.saturating_add(1) {
            return Err(Fault::Limit(Limit::GrowthBytes));
        }
    }
    if from == 0 {
        return Err(Fault::NotFound);
    }
    result.push_str(&working[from..]);
    Ok(result)
}
