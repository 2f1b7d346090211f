//! Ctrl-C while scores are made.
//!
//! Python only notes a signal while the interpreter is released; its handler runs when the main thread asks
//! for it. So long work has a thread of its own, and the calling thread asks now and then. A handler that
//! raises, as that of Ctrl-C does, stops the work.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Work on fewer bytes of text is done at once, in the calling thread: it takes milliseconds at most.
const SHORT: usize = 1 << 15;
/// Between two looks for signals.
const PAUSE: Duration = Duration::from_millis(50);

/// What `work` makes of texts of so many `bytes`, with the interpreter released. `work` gives up,
/// with `None`, only where the flag is true.
pub(crate) fn heeding<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&Arc<AtomicBool>) -> Option<T> + Send,
) -> PyResult<T> {
    let cancel = Arc::new(AtomicBool::new(false));
    let value = if bytes < SHORT {
        py.detach(|| work(&cancel))
    } else {
        py.detach(|| watched(&cancel, work))?
    };
    Ok(value.expect("only a signal cancels, and its exception is raised instead"))
}

fn watched<T: Send>(
    cancel: &Arc<AtomicBool>,
    work: impl FnOnce(&Arc<AtomicBool>) -> Option<T> + Send,
) -> PyResult<Option<T>> {
    thread::scope(|scope| {
        // Dropped at the end of the work, however it ends.
        let (working, ended) = channel::<()>();
        let worker = thread::Builder::new()
            .name("swerl-reward".to_owned())
            .spawn_scoped(scope, move || {
                let _working = working;
                work(cancel)
            })
            .map_err(|error| {
                PyRuntimeError::new_err(format!("a thread cannot be started: {error}"))
            })?;
        let mut raised = Ok(());
        while raised.is_ok() && ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            raised = Python::attach(|py| py.check_signals());
        }
        if raised.is_err() {
            cancel.store(true, Ordering::Relaxed);
        }
        let value = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        raised.map(|()| value)
    })
}
