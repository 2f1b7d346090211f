//! Many blocking requests at once, watched by one thread: progress, stalls, the deadline, the wish to
//! stop. No worker outlives the call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::error::EngineError;
use super::http::Failure;
use super::retry::Halt;
use crate::observer::RolloutObserver;

/// How often the watching thread looks up.
const LOOK: Duration = Duration::from_millis(20);
/// How many pending prompts a message names.
const NAMED: usize = 8;

/// What to do, and how long to wait for it.
pub(crate) struct Work<'a, R> {
    /// Number of jobs.
    pub(crate) jobs: usize,
    /// Most of them at once.
    pub(crate) workers: usize,
    /// Longest time without a result before the observer is told.
    pub(crate) stall: Duration,
    /// Longest time for all of them.
    pub(crate) deadline: Duration,
    /// Does one job.
    pub(crate) run: &'a (dyn Fn(usize) -> Result<R, EngineError> + Sync),
    /// The name of a job's prompt.
    pub(crate) name: &'a (dyn Fn(usize) -> String + Sync),
    /// Tokens of a result, for progress.
    pub(crate) tokens: fn(&R) -> usize,
    /// Breaks off the requests under way.
    pub(crate) interrupt: &'a (dyn Fn() + Sync),
    /// What the last failed attempt said.
    pub(crate) last_failure: &'a (dyn Fn() -> Option<Failure> + Sync),
}

impl<R: Send> Work<'_, R> {
    /// The results, in the order of the jobs.
    pub(crate) fn results(
        &self,
        halt: &Halt,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<R>, EngineError> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut results: Vec<Option<R>> = (0..self.jobs).map(|_| None).collect();
        let mut failed = None;
        std::thread::scope(|scope| {
            for _ in 0..self.workers.min(self.jobs) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while !halt.is_stopped() {
                        let job = next.fetch_add(1, Ordering::Relaxed);
                        if job >= self.jobs || sender.send((job, (self.run)(job))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let (start, mut heard) = (Instant::now(), Instant::now());
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok((job, Ok(result))) => {
                        heard = Instant::now();
                        observer.on_progress((self.tokens)(&result), 1);
                        results[job] = Some(result);
                    }
                    Ok((_, Err(error))) => failed = Some(error),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if failed.is_none() {
                    failed = self.overdue(start, &results, observer);
                }
                if failed.is_some() {
                    halt.stop();
                    (self.interrupt)();
                    break;
                }
                if heard.elapsed() >= self.stall {
                    observer.on_stall(&self.pending(&results), start.elapsed().as_secs_f64());
                    heard = Instant::now();
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            // Workers end without a result only when stopped, and then there is an error.
            None => results.into_iter().collect::<Option<_>>().ok_or(EngineError::Interrupted),
        }
    }

    fn overdue(
        &self,
        start: Instant,
        results: &[Option<R>],
        observer: &dyn RolloutObserver,
    ) -> Option<EngineError> {
        if observer.should_stop() {
            return Some(EngineError::Interrupted);
        }
        let waited = start.elapsed();
        if waited < self.deadline {
            return None;
        }
        let pending = self.pending(results);
        let mut names = pending[..pending.len().min(NAMED)].join(", ");
        if pending.len() > NAMED {
            names.push_str(&format!(" and {} more", pending.len() - NAMED));
        }
        Some(EngineError::Deadline {
            done: results.iter().flatten().count(),
            jobs: self.jobs,
            waited_s: waited.as_secs_f64(),
            pending: names,
            source: (self.last_failure)(),
        })
    }

    /// The prompts with a job that is not done, each once.
    fn pending(&self, results: &[Option<R>]) -> Vec<String> {
        let open = results.iter().enumerate().filter(|(_, result)| result.is_none());
        let mut names: Vec<String> = open.map(|(job, _)| (self.name)(job)).collect();
        names.dedup();
        names
    }
}
