//! Ctrl-C and SIGTERM: the process ends at once and leaves no half-written file.
//!
//! A file that is being written has another name until it is whole. The handler removes the one
//! that is registered here ([`Interrupt::begin`]) and ends the process; work that must not be cut holds
//! [`Interrupt::guard`], and is short. Training instead ends after its step, with a checkpoint
//! ([`Interrupt::after_the_step`]).

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::output::say;

/// Exit code after an interrupt: 128 + SIGINT, as shells have it.
pub(crate) const EXIT_CODE: u8 = 130;

/// Says it, unless standard error is a pipe that nobody empties: then the process ends all the same.
fn tell() {
    let (told, done) = mpsc::channel();
    thread::spawn(move || {
        say("error: interrupted");
        // The other side may have stopped waiting.
        let _ = told.send(());
    });
    let _ = done.recv_timeout(PATIENCE);
}

/// How long the message may take.
const PATIENCE: Duration = Duration::from_millis(200);

/// Whether an interrupt came, and what it must tidy up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    after_the_step: OnceLock<Arc<AtomicBool>>,
    unfinished: Mutex<Option<PathBuf>>,
}

/// While it lives, an interrupt waits.
pub(crate) type Guard<'a> = MutexGuard<'a, Option<PathBuf>>;

impl Interrupt {
    /// Installs the handler. Called once.
    pub(crate) fn install() -> Result<Self> {
        let interrupt = Self::default();
        let handler = interrupt.clone();
        ctrlc::set_handler(move || {
            let gentle = handler.shared.after_the_step.get();
            if gentle.is_some_and(|stop| !stop.swap(true, Ordering::SeqCst)) {
                say("stopping after this step and saving; press Ctrl-C again to give up at once");
                return;
            }
            handler.shared.asked.store(true, Ordering::SeqCst);
            tell();
            let unfinished = handler.guard();
            if let Some(path) = unfinished.as_deref() {
                // Nobody is left to be told of a failure.
                let _ = fs::remove_file(path);
            }
            process::exit(i32::from(EXIT_CODE));
        })
        .context("cannot handle Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether an interrupt came.
    pub(crate) fn asked(&self) -> bool {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// From now on the first interrupt only sets the flag returned; whoever works looks at it.
    #[cfg(feature = "train")]
    pub(crate) fn after_the_step(&self) -> Arc<AtomicBool> {
        Arc::clone(self.shared.after_the_step.get_or_init(Arc::default))
    }

    /// Makes interrupts wait until the guard is dropped.
    pub(crate) fn guard(&self) -> Guard<'_> {
        self.shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An interrupt removes `path` from now on, until [`Interrupt::end`].
    pub(crate) fn begin(&self, path: &Path) -> Guard<'_> {
        let mut guard = self.guard();
        *guard = Some(path.to_path_buf());
        guard
    }

    /// No file is unfinished any more, once the guard is dropped.
    pub(crate) fn end(&self) -> Guard<'_> {
        let mut guard = self.guard();
        *guard = None;
        guard
    }
}
