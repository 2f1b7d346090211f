//! Waiting: longer after each failure, and no longer once a stop is asked for.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait between two attempts.
const MOST: f64 = 30.0;

/// The wait after failed attempt `attempt` (from 0): `base * 2^attempt`, at most 30 s, of which a
/// uniform `share` in (0, 1) takes away up to half, so that workers do not come back together.
pub(crate) fn backoff(base_s: f64, attempt: u32, share: f64) -> Duration {
    let longest = (base_s * f64::from(attempt.min(60)).exp2()).min(MOST);
    Duration::from_secs_f64(longest * (1.0 - 0.5 * share))
}

/// A stop that can be waited for.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Halt {
    pub(crate) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, or returns `false` at once when stopped.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return true };
            (stopped, _) =
                self.changed.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let at = |attempt, share| backoff(0.5, attempt, share).as_secs_f64();
        assert_eq!((at(0, 0.0), at(1, 0.0), at(4, 0.0), at(100, 0.0)), (0.5, 1.0, 8.0, 30.0));
        assert_eq!(at(1, 1.0), 0.5);
        assert_eq!(backoff(0.0, 5, 0.5), Duration::ZERO);
    }

    #[test]
    fn a_stop_ends_a_wait() {
        let halt = Halt::default();
        assert!(halt.sleep(Duration::from_millis(1)));
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| halt.sleep(Duration::from_secs(60)));
            halt.stop();
            assert!(!sleeper.join().expect("sleeps"));
        });
        assert!(start.elapsed() < Duration::from_secs(30) && halt.is_stopped());
    }
}
