//! Who decides where a rule is only a guess: a model, asked through a trait, or nobody.

use std::fmt;

use crate::context::RelevantFiles;

/// Decides whether an issue reports a bug.
pub trait BugJudge: Sync {
    /// `None` where it cannot tell; the rule decides then
    /// ([`reports_bug`](crate::filter::bug::reports_bug)).
    fn reports_bug(&self, title: &str, body: &str, labels: &[String]) -> Option<bool>;
}

/// The deciders of one curation. The default is the rules alone, which need no model.
#[derive(Clone, Copy, Default)]
pub struct Judges<'a> {
    /// Decides what is a bug.
    pub bug: Option<&'a dyn BugJudge>,
    /// Chooses the unmodified files of a seed.
    pub relevant: Option<&'a dyn RelevantFiles>,
}

impl fmt::Debug for Judges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judges")
            .field("bug", &self.bug.is_some())
            .field("relevant", &self.relevant.is_some())
            .finish()
    }
}

impl Judges<'_> {
    /// Whether an issue reports a bug, by the judge or else by the rule.
    pub(crate) fn reports_bug(&self, title: &str, body: &str, labels: &[String]) -> bool {
        self.bug
            .and_then(|judge| judge.reports_bug(title, body, labels))
            .unwrap_or_else(|| crate::filter::bug::reports_bug(title, body, labels))
    }
}
