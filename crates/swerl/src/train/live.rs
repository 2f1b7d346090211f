//! What the run shows: a bar with an ETA on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swerl_data::Progress;
use swerl_rollout::RolloutObserver;

/// The terminal, shared by all phases.
pub struct Live {
    quiet: bool,
    terminal: bool,
    bar: Mutex<ProgressBar>,
    stop: Arc<AtomicBool>,
}

impl Live {
    /// Silent when `quiet`; `stop` is what Ctrl-C sets.
    pub fn new(quiet: bool, stop: Arc<AtomicBool>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { quiet, terminal, bar: Mutex::new(ProgressBar::hidden()), stop }
    }

    /// Begins a bar of `total` units.
    pub fn begin(&self, what: &str, total: u64) {
        let target = if self.quiet || !self.terminal {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let style =
            ProgressStyle::with_template("{prefix:>20} {bar:24} {pos}/{len} {msg} ETA {eta}")
                .expect("the template is valid");
        let bar = ProgressBar::with_draw_target(Some(total), target)
            .with_style(style)
            .with_prefix(what.to_owned());
        *self.bar() = bar;
    }

    /// `done` units of the bar are finished; `message` is shown beside it.
    pub fn at(&self, done: u64, message: String) {
        let bar = self.bar();
        bar.set_position(done);
        bar.set_message(message);
    }

    /// Ends the bar.
    pub fn end(&self) {
        self.bar().finish_and_clear();
    }

    /// Prints a line.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            self.bar().suspend(|| eprintln!("{line}"));
        }
    }

    /// Prints a line where there is no bar to look at.
    pub(super) fn say_plain(&self, line: &str) {
        if !self.terminal {
            self.say(line);
        }
    }

    /// A counter of files or repositories.
    pub fn count(&self, what: &str, done: usize, total: usize) {
        if done == 0 || self.bar().length() != Some(total as u64) {
            self.begin(what, total as u64);
        }
        self.at(done as u64, String::new());
        if done == total {
            self.end();
        }
    }

    /// Whether Ctrl-C was pressed.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, ProgressBar> {
        self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Progress for Live {
    fn start(&self, total: u64, what: &str) {
        self.begin(what, total);
    }

    fn advance(&self, units: u64) {
        self.bar().inc(units);
    }

    fn finish(&self) {
        self.end();
    }
}

/// Advances the bar by completions as an evaluation goes on.
pub(super) struct Counting<'a> {
    pub(super) live: &'a Live,
    pub(super) done: u64,
}

impl RolloutObserver for Counting<'_> {
    fn on_progress(&mut self, _tokens: usize, finished: usize) {
        self.done += finished as u64;
        self.live.at(self.done, String::new());
    }

    fn should_stop(&self) -> bool {
        self.live.stopping()
    }
}
