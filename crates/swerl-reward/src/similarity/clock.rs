//! When to stop: a limit in time or a flag, which hold inside a round, or a limit on the work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Symbols of work between two looks at the clock: some hundred microseconds.
const STRIDE: usize = 1 << 14;

/// When to stop, and whether work was cut short.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    deadline: Option<Instant>,
    /// Any of them that is true stops the work.
    flags: Vec<Arc<AtomicBool>>,
    /// Symbols that may still be looked at, counted once a round; `None` once they were not enough.
    symbols: Option<usize>,
    stopped: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Self { deadline: None, flags: Vec::new(), symbols: Some(usize::MAX), stopped: false }
    }
}

impl Clock {
    /// A clock that stops at `deadline` too, and where `flag` is true.
    pub(super) fn until(&self, deadline: Option<Instant>, flag: Option<&Arc<AtomicBool>>) -> Self {
        Self {
            deadline: self.deadline.into_iter().chain(deadline).min(),
            flags: self.flags.iter().chain(flag).cloned().collect(),
            symbols: Some(usize::MAX),
            stopped: false,
        }
    }

    /// A clock that stops behind so many symbols too.
    pub(super) fn for_symbols(&self, symbols: usize) -> Self {
        Self { symbols: Some(symbols), stopped: false, ..self.clone() }
    }

    /// Whether to stop before a round over so many symbols.
    pub(super) fn late_for(&mut self, symbols: usize) -> bool {
        self.symbols = self.symbols.and_then(|left| left.checked_sub(symbols));
        self.late()
    }

    /// Whether the symbols were not enough.
    pub(super) fn exhausted(&self) -> bool {
        self.symbols.is_none()
    }

    /// Whether work was cut short.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Whether to stop now.
    pub(super) fn late(&mut self) -> bool {
        self.stopped = self.stopped
            || self.exhausted()
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.flags.iter().any(|flag| flag.load(Ordering::Relaxed));
        self.stopped
    }

    /// Whether to stop, where `step` counts work up by one: looks at the clock once a stride.
    #[inline]
    pub(super) fn late_at(&mut self, step: usize) -> bool {
        step.is_multiple_of(STRIDE) && self.late()
    }
}
