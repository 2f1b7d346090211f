//! Watching and stopping rollouts: progress goes out, a wish to stop comes in.

use crate::collect::RolloutStats;

/// What is told to whoever watches. Every method has a default that does nothing.
pub trait RolloutObserver {
    /// `tokens` more were sampled and `finished` more completions ended.
    fn on_progress(&mut self, tokens: usize, finished: usize) {
        let _ = (tokens, finished);
    }

    /// No completion has come from an engine for `waited_s` seconds; `pending` names the prompts that
    /// are waited for. Told again after each further such time.
    fn on_stall(&mut self, pending: &[String], waited_s: f64) {
        let _ = (pending, waited_s);
    }

    /// A step's groups are collected and scored.
    fn on_collected(&mut self, stats: &RolloutStats) {
        let _ = stats;
    }

    /// Asked between tokens. Once `true`, sampling ends with [`crate::SampleError::Interrupted`].
    fn should_stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
impl RolloutObserver for () {}
