//! Progress on the terminal. Hidden when standard error is no terminal, or with `--quiet`.

use std::sync::{Mutex, PoisonError};

use indicatif::{
    HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use swerl::data::Progress;

use crate::output::say;

const STYLE: &str = "{msg} {bar:30} {human_pos}/{human_len} {percent}% {per_sec} ETA {eta}";
const BYTES_STYLE: &str =
    "{msg} {bar:30} {bytes}/{total_bytes} {percent}% {bytes_per_sec} ETA {eta}";

const UNKNOWN_STYLE: &str = "{spinner} {msg} {human_pos} {per_sec}";
const UNKNOWN_BYTES_STYLE: &str = "{spinner} {msg} {bytes} {bytes_per_sec}";

/// One bar at a time, one stage after the other.
#[derive(Debug)]
pub(crate) struct Bar {
    current: Mutex<ProgressBar>,
    quiet: bool,
    style: &'static str,
    /// The style where nobody knows how much it will be.
    unknown: &'static str,
    /// A number of units, for people.
    units: fn(u64) -> String,
}

impl Bar {
    /// A bar that counts things.
    pub(crate) fn counting(quiet: bool) -> Self {
        Self::new(quiet, [STYLE, UNKNOWN_STYLE], |count| HumanCount(count).to_string())
    }

    /// A bar that counts bytes.
    pub(crate) fn bytes(quiet: bool) -> Self {
        Self::new(quiet, [BYTES_STYLE, UNKNOWN_BYTES_STYLE], |bytes| HumanBytes(bytes).to_string())
    }

    fn new(quiet: bool, [style, unknown]: [&'static str; 2], units: fn(u64) -> String) -> Self {
        Self { current: Mutex::new(ProgressBar::hidden()), quiet, style, unknown, units }
    }

    fn with<T>(&self, f: impl FnOnce(&mut ProgressBar) -> T) -> T {
        f(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Prints a line without tearing the bar.
    pub(crate) fn say(&self, line: &str) {
        self.with(|bar| bar.suspend(|| say(line)));
    }
}

impl Bar {
    /// Starts a bar of unknown length.
    pub(crate) fn start_unknown(&self, what: &str) {
        self.begin(None, self.unknown, what);
    }

    fn begin(&self, total: Option<u64>, style: &str, what: &str) {
        let target =
            if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(style).expect("the templates above are valid");
        let bar = ProgressBar::with_draw_target(total, target)
            .with_style(style)
            .with_message(what.to_owned());
        self.with(|current| *current = bar);
    }
}

impl Progress for Bar {
    fn start(&self, total: u64, what: &str) {
        self.begin(Some(total), self.style, what);
    }

    fn advance(&self, units: u64) {
        self.with(|bar| bar.inc(units));
    }

    fn finish(&self) {
        self.with(|bar| {
            if !bar.is_hidden() {
                let (what, took) = (bar.message(), HumanDuration(bar.elapsed()));
                bar.finish_and_clear();
                let done = (self.units)(bar.position());
                say(&format!("{what}: {done} in {took}"));
            }
        });
    }
}
