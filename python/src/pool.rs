//! The threads that score a batch.
//!
//! rayon's own global pool does not survive a fork: in the child its threads are gone, and a batch
//! would wait for them forever. Trainers fork (multiprocessing, data loaders), so there is one pool a
//! process, made at its first batch. Its size is rayon's: `RAYON_NUM_THREADS`, else all cores.

use std::process;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool and the process that it belongs to. Locked only while the interpreter is held, so a fork
/// from Python never copies it locked.
static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// The pool of this process. `_py` shows that the interpreter is held.
pub(crate) fn pool(_py: Python<'_>) -> PyResult<&'static ThreadPool> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = *slot
        && owner == process::id()
    {
        return Ok(pool);
    }
    let pool = ThreadPoolBuilder::new()
        .thread_name(|index| format!("swerl-reward-{index}"))
        .build()
        .map_err(|error| {
            PyRuntimeError::new_err(format!(
                "the threads of score_batch cannot be started: {error}; \
                 fewer are with the environment variable RAYON_NUM_THREADS"
            ))
        })?;
    // Lives as long as the process. After a fork the parent's pool has no threads to join.
    let pool: &'static ThreadPool = Box::leak(Box::new(pool));
    *slot = Some((process::id(), pool));
    Ok(pool)
}
