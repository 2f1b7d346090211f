//! Which groups of a long trace are shown.
//!
//! A rule without chance. Within a step the groups queue up: first the one with the step's highest reward,
//! then the one with its lowest, then the others in the order of a hash of (step, prompt). Steps take turns:
//! each round takes the next group of every step, in an order that spreads over the run (first step, last
//! step, the middle, the quarters, ...). Groups are taken whole until the next would pass the limit of
//! rollouts or of bytes; the first is always taken.

use super::trace::Group;

/// Most bytes of the trace whose rollouts are shown on one page.
pub(super) const MAX_BYTES: u64 = 32 << 20;

/// Positions in `groups` (sorted by step and prompt) of those shown, in the order of the trace.
pub(super) fn select(groups: &[Group], limit: usize, max_bytes: u64) -> Vec<usize> {
    let mut queues = Vec::new();
    let mut start = 0;
    while start < groups.len() {
        let step = groups[start].step;
        let end = start + groups[start..].iter().take_while(|group| group.step == step).count();
        queues.push(queue(groups, start, end));
        start = end;
    }
    let turns = spread(queues.len());
    let longest = queues.iter().map(Vec::len).max().unwrap_or(0);
    let mut chosen = Vec::new();
    let (mut rollouts, mut bytes) = (0, 0);
    'rounds: for round in 0..longest {
        for &turn in &turns {
            let Some(&at) = queues[turn].get(round) else { continue };
            rollouts += groups[at].len();
            bytes += groups[at].bytes;
            if !chosen.is_empty() && (rollouts > limit || bytes > max_bytes) {
                break 'rounds;
            }
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The groups `start..end` of one step in the order in which they are taken.
fn queue(groups: &[Group], start: usize, end: usize) -> Vec<usize> {
    let mut queue: Vec<usize> = (start..end).collect();
    queue.sort_by_key(|&at| hash(groups[at].step, groups[at].prompt));
    let best = (start..end)
        .filter_map(|at| Some((at, groups[at].best?)))
        .reduce(|a, b| if b.1 > a.1 { b } else { a });
    let worst = (start..end)
        .filter_map(|at| Some((at, groups[at].worst?)))
        .reduce(|a, b| if b.1 < a.1 { b } else { a });
    for (at, _) in [worst, best].into_iter().flatten() {
        queue.retain(|&other| other != at);
        queue.insert(0, at);
    }
    queue
}

/// `0..count` in an order whose every beginning is spread out: the ends, then the middles of what is
/// between.
fn spread(count: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut between = std::collections::VecDeque::<(usize, usize)>::new();
    if count > 0 {
        order.push(0);
    }
    if count > 1 {
        order.push(count - 1);
        between.push_back((0, count - 1));
    }
    while let Some((low, high)) = between.pop_front() {
        let middle = low.midpoint(high);
        if middle > low {
            order.push(middle);
            between.push_back((low, middle));
            between.push_back((middle, high));
        }
    }
    order
}

/// SplitMix64's finalizer over both numbers: an order that has nothing to do with the data.
fn hash(step: u64, prompt: u64) -> u64 {
    let mut x = step.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(prompt);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of two rollouts and 100 bytes: (step, prompt, worst, best).
    fn groups(rows: &[(u64, u64, f64, f64)]) -> Vec<Group> {
        rows.iter()
            .map(|&(step, prompt, worst, best)| Group::for_tests(step, prompt, worst, best))
            .collect()
    }

    #[test]
    fn the_order_of_steps_is_spread_and_whole() {
        assert_eq!(spread(0), [0; 0]);
        assert_eq!(spread(1), [0]);
        assert_eq!(spread(5), [0, 4, 2, 1, 3]);
        for count in [2, 7, 64, 100] {
            let mut order = spread(count);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn best_and_worst_of_a_step_come_first() {
        let groups = groups(&[
            (0, 0, 0.0, 0.5),
            (0, 1, -1.0, 0.4),
            (0, 2, 0.0, 0.5),
            (0, 3, 0.2, 0.9),
            (0, 4, 0.2, 0.3),
        ]);
        assert_eq!(select(&groups, 2, MAX_BYTES), [3]);
        assert_eq!(select(&groups, 4, MAX_BYTES), [1, 3]);
        assert_eq!(select(&groups, 10, MAX_BYTES), [0, 1, 2, 3, 4]);
        let six = select(&groups, 6, MAX_BYTES);
        assert!(six.len() == 3 && six.contains(&1) && six.contains(&3), "{six:?}");
    }

    #[test]
    fn steps_take_turns_and_limits_hold() {
        let rows: Vec<_> =
            (0..8).flat_map(|step| (0..3).map(move |p| (step, p, 0.0, 1.0))).collect();
        let groups = groups(&rows);
        let steps =
            |chosen: Vec<usize>| chosen.iter().map(|&at| groups[at].step).collect::<Vec<_>>();
        assert_eq!(steps(select(&groups, 4, MAX_BYTES)), [0, 7]);
        assert_eq!(steps(select(&groups, 17, MAX_BYTES)), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(select(&groups, 1_000, MAX_BYTES).len(), 24);
        assert_eq!(select(&groups, 1_000, 350).len(), 3);
        assert_eq!(select(&groups, 0, 0).len(), 1);
        assert!(select(&[], 10, MAX_BYTES).is_empty());
    }
}
