//! When to stop, for a time limit that holds inside a round and not only between two.

use std::time::Instant;

/// Symbols of work between two looks at the clock: some hundred microseconds.
const STRIDE: usize = 1 << 14;

/// A point in time, and whether work was cut short by it.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    deadline: Option<Instant>,
    stopped: bool,
}

impl Clock {
    /// A clock that stops at `deadline`, or earlier where this one does.
    pub(super) fn until(&self, deadline: Option<Instant>) -> Self {
        let earliest = self.deadline.into_iter().chain(deadline).min();
        Self { deadline: earliest, stopped: false }
    }

    /// Whether work was cut short.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Whether to stop now.
    pub(super) fn late(&mut self) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.stopped = true;
        }
        self.stopped
    }

    /// Whether to stop, where `step` counts work up by one: looks at the clock once a stride.
    #[inline]
    pub(super) fn late_at(&mut self, step: usize) -> bool {
        step.is_multiple_of(STRIDE) && self.late()
    }
}
