//! The gradient of the cross-entropy of given sequences, by micro-batches.

use burn::module::Module;
use burn::optim::GradientsAccumulator;

use crate::batch::{BatchError, Piece, TokenBatch, split_by_budget};
use crate::error::TrainError;
use crate::policy::{Policy, PolicyError, TokenScores};
use crate::sequence::Sequence;

/// Name of the data set in messages.
pub(crate) const DATA: &str = "the data";

/// How sequences are cut into micro-batches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Whether a micro-batch is one row of sequences side by side instead of a row each.
    pub(crate) packed: bool,
    pub(crate) micro_batch_tokens: usize,
}

/// Sums over the sequences.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Tokens computed, prompts included.
    pub(crate) tokens: usize,
    pub(crate) micro_batches: usize,
    /// Of the marked tokens.
    pub(crate) log_prob: f64,
    pub(crate) entropy: f64,
}

/// What failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Batch(BatchError),
    Policy(PolicyError),
    /// A value that is not finite, of sequence `member`.
    NonFinite {
        member: usize,
        what: &'static str,
        value: f64,
    },
}

impl Failure {
    /// The error of step `step`; `name` gives the number that the user knows a sequence by.
    pub(crate) fn at(self, step: u64, name: impl Fn(usize) -> usize) -> TrainError {
        match self {
            Self::Batch(source) => TrainError::Batch { step, source },
            Self::Policy(source) => TrainError::Policy { step, source },
            Self::NonFinite { member, what, value } => {
                let (id, member) = (DATA.to_owned(), name(member));
                TrainError::NonFinite { step, id, member, what, value }
            }
        }
    }
}

/// Adds the gradient of `-weight * sum of log p` over the marked tokens of `sequences`.
pub(crate) fn accumulate<P: Policy + Module>(
    policy: &P,
    sequences: &[&Sequence],
    weight: f32,
    cut: Cut,
    accumulator: &mut GradientsAccumulator<P>,
) -> Result<Sums, Failure> {
    let piece = |(place, sequence): (usize, &&Sequence)| Piece {
        row: if cut.packed { 0 } else { place },
        shared: 0,
        own: sequence.tokens.len(),
    };
    let pieces: Vec<Piece> = sequences.iter().enumerate().map(piece).collect();
    let runs = split_by_budget(&pieces, cut.micro_batch_tokens);
    let mut sums = Sums { micro_batches: runs.len(), ..Sums::default() };
    for run in runs {
        let members = &sequences[run.clone()];
        let row_tokens = cut.packed.then_some(usize::MAX);
        let batch = TokenBatch::from_sequences(members, row_tokens, 1.0).map_err(Failure::Batch)?;
        let gradients = policy
            .score_backward(&batch, &mut |scores| {
                sums.add(&batch, scores)?;
                let targets = batch.targets.len();
                let device = scores.log_prob.device();
                let (slopes, zeros) = (vec![-weight; targets], vec![0.0; targets]);
                Ok(TokenScores::from_host(slopes, zeros, &device))
            })
            .map_err(|source| match source {
                PolicyError::NonFinite { sample, what, value, .. } if sample < members.len() => {
                    Failure::NonFinite { member: run.start + sample, what, value }
                }
                source => Failure::Policy(source),
            })?;
        accumulator.accumulate(policy, gradients);
    }
    Ok(sums)
}

impl Sums {
    fn add(&mut self, batch: &TokenBatch, scores: &TokenScores) -> Result<(), PolicyError> {
        let (log_prob, entropy) = scores.to_host()?;
        for (what, values) in [("log-prob", &log_prob), ("entropy", &entropy)] {
            if values.len() != batch.targets.len() {
                return Err(PolicyError::Scores {
                    what,
                    found: values.len(),
                    expected: batch.targets.len(),
                });
            }
            if let Some(target) = values.iter().position(|value| !value.is_finite()) {
                return Err(PolicyError::NonFinite {
                    target,
                    sample: batch.targets[target].sample as usize,
                    what,
                    value: f64::from(values[target]),
                });
            }
        }
        self.tokens += batch.tokens();
        self.log_prob += log_prob.into_iter().map(f64::from).sum::<f64>();
        self.entropy += entropy.into_iter().map(f64::from).sum::<f64>();
        Ok(())
    }
}
