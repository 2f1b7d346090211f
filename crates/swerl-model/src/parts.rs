//! A batch in parts that the CPU computes side by side. Each part has its own graph, so that what
//! the tensor library does on one thread, element by element, keeps no other thread waiting. Each
//! has its own gradients too, so a large model's batch is one part.
//!
//! How a batch is cut depends on the batch alone, and gradients are summed in the order of the
//! parts: the number of threads does not change a bit.

use std::ops::Range;

use swerl_grpo::batch::{Target, TokenBatch};

use crate::causal_lm::CausalLm;

/// Most parts of a batch.
#[cfg(feature = "flex")]
const PARTS: usize = 4;
/// Fewest tokens worth a part.
#[cfg(feature = "flex")]
const TOKENS: usize = 512;
/// Parameters of the largest model whose gradients may exist once a part: 64 MiB each.
#[cfg(feature = "flex")]
const PARAMETERS: u64 = 1 << 24;

/// Consecutive rows of a batch.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) rows: Range<usize>,
    /// Which of the batch's targets lie in them, ascending.
    targets: Vec<usize>,
}

impl Part {
    /// One part, or several where a small `model` is computed on this machine's threads.
    pub(crate) fn of(batch: &TokenBatch, model: &CausalLm) -> Vec<Self> {
        #[cfg(feature = "flex")]
        if crate::fused::is_fused(&model.device()) && model.config().parameters() <= PARAMETERS {
            let lens: Vec<usize> = batch.rows.iter().map(|row| row.tokens.len()).collect();
            return Self::holding(batch, cuts(&lens));
        }
        let _ = model;
        Self::holding(batch, std::iter::once(0..batch.rows.len()).collect())
    }

    fn holding(batch: &TokenBatch, rows: Vec<Range<usize>>) -> Vec<Self> {
        let mut parts: Vec<Self> =
            rows.into_iter().map(|rows| Self { rows, targets: Vec::new() }).collect();
        for (index, target) in batch.targets.iter().enumerate() {
            let part = parts.partition_point(|part| part.rows.end <= target.row as usize);
            parts[part].targets.push(index);
        }
        // Rows without a target have neither scores nor gradients.
        parts.retain(|part| !part.targets.is_empty());
        parts
    }

    /// Its targets.
    pub(crate) fn targets<'a>(&'a self, batch: &'a TokenBatch) -> impl Iterator<Item = &'a Target> {
        self.targets.iter().map(|&index| &batch.targets[index])
    }

    /// Those of `all`, a value per target of the batch, that are its own.
    pub(crate) fn select(&self, all: &[f32]) -> Vec<f32> {
        self.targets.iter().map(|&index| all[index]).collect()
    }

    /// Puts its own values into their places among `all`.
    pub(crate) fn spread(&self, own: &[f32], all: &mut [f32]) {
        for (&index, &value) in self.targets.iter().zip(own) {
            all[index] = value;
        }
    }
}

/// Rows of these lengths in up to [`PARTS`] parts of about as many tokens.
#[cfg(feature = "flex")]
fn cuts(lens: &[usize]) -> Vec<Range<usize>> {
    let all: usize = lens.iter().sum();
    let parts = (all / TOKENS).clamp(1, PARTS);
    let (mut cuts, mut start, mut tokens, mut full) = (Vec::new(), 0, 0, 0);
    for (row, len) in lens.iter().enumerate() {
        tokens += len;
        let level = tokens * parts / all;
        if level > full {
            cuts.push(start..row + 1);
            (start, full) = (row + 1, level);
        }
    }
    cuts
}

/// `f` of each item, in order; on all threads where there are several items.
#[cfg(feature = "flex")]
pub(crate) fn side_by_side<T: Send, R: Send>(
    items: Vec<T>,
    f: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    use rayon::prelude::*;
    if items.len() == 1 {
        return items.into_iter().map(f).collect();
    }
    items.into_par_iter().with_max_len(1).map(f).collect()
}

/// `f` of each item, in order.
#[cfg(not(feature = "flex"))]
pub(crate) fn side_by_side<T, R>(items: Vec<T>, f: impl Fn(T) -> R) -> Vec<R> {
    items.into_iter().map(f).collect()
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::cuts;

    #[test]
    fn rows_are_cut_by_tokens_and_none_is_lost() {
        let ends = |lens: &[usize]| cuts(lens).iter().map(|cut| cut.end).collect::<Vec<_>>();
        assert_eq!(ends(&[300]), [1]);
        assert_eq!(ends(&[600, 600]), [1, 2]);
        assert_eq!(ends(&[100; 8]), [8]);
        assert_eq!(ends(&[400; 8]), [2, 4, 6, 8]);
        assert_eq!(ends(&[5000, 10, 10, 10]), [1, 4]);
        assert_eq!(ends(&[10, 10, 10, 5000]), [4]);
        for seed in 1..200usize {
            let lens: Vec<usize> = (0..seed % 23 + 1).map(|i| 1 + i * seed * 37 % 700).collect();
            let cuts = cuts(&lens);
            assert!(cuts.iter().all(|cut| !cut.is_empty()), "{lens:?}");
            assert!(cuts.windows(2).all(|pair| pair[0].end == pair[1].start), "{lens:?}");
            assert_eq!((cuts[0].start, cuts[cuts.len() - 1].end), (0, lens.len()));
        }
    }
}
