//! Hunks of a change, and the rules that look at one hunk at a time.
//!
//! A change is dropped by these rules only if they flag every one of its hunks: a lock file that
//! rides along with a fix costs nothing. It is then counted under the rule that flags most of its
//! hunks; ties go to the first in the order of [`RULES`]. Rules that need only the path flag all
//! hunks of a file without comparing its texts.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{
    DropReason, data_file, docs, generated, lock, minified, notebook, tests_only, vendored,
    version, whitespace,
};

/// A changed file: its path and texts. A missing file is the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedFile<'a> {
    /// Relative to the root of the repository.
    pub path: &'a str,
    /// Before the change.
    pub old: &'a str,
    /// After the change.
    pub new: &'a str,
}

/// One run of changed lines, without context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The lines taken out, with their line ends.
    pub removed: Vec<&'a str>,
    /// The lines put in.
    pub added: Vec<&'a str>,
}

/// The hunks of a file: runs of changed lines with at least one unchanged line between them, by
/// the shortest edit script. O(n d) for n lines and d differences.
#[must_use]
pub fn hunks<'a>(old: &'a str, new: &'a str) -> Vec<Hunk<'a>> {
    let before: Vec<&str> = old.split_inclusive('\n').collect();
    let after: Vec<&str> = new.split_inclusive('\n').collect();
    let mut found = Vec::new();
    let mut open: Option<Hunk<'_>> = None;
    for operation in capture_diff_slices(Algorithm::Myers, &before, &after) {
        if matches!(operation, DiffOp::Equal { .. }) {
            found.extend(open.take());
            continue;
        }
        let hunk = open.get_or_insert_with(|| Hunk { removed: Vec::new(), added: Vec::new() });
        hunk.removed.extend(&before[operation.old_range()]);
        hunk.added.extend(&after[operation.new_range()]);
    }
    found.extend(open);
    found
}

/// A rule of this family.
#[derive(Debug, Clone, Copy)]
pub struct HunkRule {
    /// What a change is counted under when all its hunks are flagged.
    pub reason: DropReason,
    /// Whether all hunks of a file are flagged; needs no comparison of the texts.
    pub file: fn(&ChangedFile<'_>) -> bool,
    /// Whether one hunk of a file is flagged.
    pub hunk: fn(&ChangedFile<'_>, &Hunk<'_>) -> bool,
}

/// All rules, in the order in which ties are broken.
pub const RULES: [HunkRule; 10] = [
    of_file(DropReason::LockFilesOnly, |file| lock::is_lock_file(file.path)),
    of_file(DropReason::VendoredOnly, |file| vendored::is_vendored(file.path)),
    of_file(DropReason::MinifiedOnly, minified::is_minified),
    of_file(DropReason::GeneratedOnly, generated::is_generated),
    of_file(DropReason::NotebooksOnly, |file| notebook::is_notebook(file.path)),
    of_file(DropReason::TestsOnly, |file| tests_only::is_test_file(file.path)),
    of_file(DropReason::DocsOnly, |file| docs::is_documentation(file.path)),
    of_hunk(DropReason::VersionBumpOnly, version::is_bump),
    // After the version numbers, which often stand in such files.
    of_hunk(DropReason::DataFilesOnly, |file, _| data_file::is_data_file(file.path)),
    of_hunk(DropReason::WhitespaceOnly, whitespace::is_layout),
];

const fn of_file(reason: DropReason, file: fn(&ChangedFile<'_>) -> bool) -> HunkRule {
    HunkRule { reason, file, hunk: |_, _| false }
}

const fn of_hunk(reason: DropReason, hunk: fn(&ChangedFile<'_>, &Hunk<'_>) -> bool) -> HunkRule {
    HunkRule { reason, file: |_| false, hunk }
}

/// The reason to drop a change whose hunks are all flagged; `None` if one is not, or if there is
/// none at all.
#[must_use]
pub fn all_flagged(files: &[ChangedFile<'_>]) -> Option<DropReason> {
    let mut counts = [0_usize; RULES.len()];
    for file in files.iter().filter(|file| file.old != file.new) {
        if let Some(rule) = RULES.iter().position(|rule| (rule.file)(file)) {
            // The number of its hunks is not worth a comparison.
            counts[rule] += 1;
            continue;
        }
        for hunk in hunks(file.old, file.new) {
            let rule = RULES.iter().position(|rule| (rule.hunk)(file, &hunk))?;
            counts[rule] += 1;
        }
    }
    let most = counts.iter().copied().max().filter(|&most| most > 0)?;
    counts.iter().position(|&count| count == most).map(|rule| RULES[rule].reason)
}

#[cfg(test)]
mod tests {
    use super::{ChangedFile, all_flagged, hunks};
    use crate::filter::DropReason;

    #[test]
    fn runs_of_changed_lines() {
        let found = hunks("a\nb\nc\nd\n", "A\nb\nc\nd\ne");
        let texts: Vec<(String, String)> =
            found.iter().map(|hunk| (hunk.removed.concat(), hunk.added.concat())).collect();
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        assert_eq!(texts, [pair("a\n", "A\n"), pair("", "e")]);
        assert_eq!(hunks("", "x\ny\n").len(), 1);
        assert_eq!(hunks("x\n", "x\n").len(), 0);
    }

    #[track_caller]
    fn check(files: &[(&'static str, &'static str, &'static str)], expected: Option<DropReason>) {
        let files: Vec<ChangedFile<'_>> =
            files.iter().map(|&(path, old, new)| ChangedFile { path, old, new }).collect();
        assert_eq!(all_flagged(&files), expected);
    }

    #[test]
    fn every_hunk_must_be_flagged() {
        let lock = ("Cargo.lock", "a\n", "b\n");
        let bump = ("Cargo.toml", "version = \"1.2.3\"\n", "version = \"1.2.4\"\n");
        let docs = ("README.md", "a\n", "b\n");
        let code = ("src/a.rs", "a\n", "b\n");
        check(&[lock], Some(DropReason::LockFilesOnly));
        check(&[lock, code], None);
        check(&[lock, docs], Some(DropReason::LockFilesOnly));
        check(
            &[lock, bump, ("web/package.json", "\"v\": \"1.0.1\"\n", "\"v\": \"1.0.2\"\n")],
            Some(DropReason::VersionBumpOnly),
        );
        check(
            &[("a.py", "__version__ = '1.0'\nx = 1\ny\n", "__version__ = '1.1'\nx = 1\nz\n")],
            None,
        );
        check(&[("a.py", "x\n", "x\n")], None);
        check(&[], None);
    }
}
