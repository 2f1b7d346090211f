//! How long work tells how far it is, without knowing any terminal.

/// Receives the progress of one call. Stages follow one another, each `start`, any number of
/// `advance`, `finish`. Calls may come from several threads.
pub trait Progress: Sync {
    /// A stage named `what` begins; it has `total` units.
    fn start(&self, total: u64, what: &str);
    /// `units` more are done.
    fn advance(&self, units: u64);
    /// The stage is over.
    fn finish(&self);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _total: u64, _what: &str) {}
    fn advance(&self, _units: u64) {}
    fn finish(&self) {}
}
