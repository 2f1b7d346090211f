//! Independent pieces of work on a few threads, results in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// More threads would wait for each other's disk writes.
const MOST_THREADS: usize = 8;

/// Calls `work` for every index below `count` on as many threads as there are cores, and `done`
/// on this thread as each ends, in any order. Gives the results by index.
pub(crate) fn run<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize),
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || sender.send((index, work(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (index, result) in receiver {
            results[index] = Some(result);
            done(index);
        }
    });
    results.into_iter().map(|result| result.expect("every index is worked on once")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        for count in [0, 1, 100] {
            let mut seen = 0;
            let squares = run(count, |index| index * index, |_| seen += 1);
            assert_eq!(squares, (0..count).map(|index| index * index).collect::<Vec<_>>());
            assert_eq!(seen, count);
        }
    }
}
