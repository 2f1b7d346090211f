//! Supervised fine-tuning: cross-entropy on the tokens marked as the policy's.
//!
//! ```text
//! loss = -(1 / N) * sum over the batch's N marked tokens of log p(token | what precedes it)
//! ```
//! The same policy, optimizer, clipping, schedule, checkpoints and observer as [`crate::train()`].
//! The order of the data is a function of (seed, epoch), so step k is the same in every run and a
//! resumed run gives the same bits.

use std::time::Instant;

use burn::module::Module;
use burn::optim::GradientsAccumulator;

use crate::batch::{Piece, TokenBatch, split_by_budget};
use crate::checkpoint::{CheckpointError, FNV_START, RunKind, fnv};
use crate::config::SftConfig;
use crate::error::TrainError;
use crate::learner::{End, Learner, Resume, Trained};
use crate::metrics::{PhaseTimes, SftMetrics};
use crate::observe::Observer;
use crate::policy::{Policy, PolicyError, TokenScores};
use crate::random::permutation;
use crate::sequence::Sequence;

/// Name of the data set in messages.
const DATA: &str = "the data";

/// Fine-tunes `policy` on `data` until all steps are done or the observer asks to stop.
///
/// Sequences are usually made by [`Sequence::supervised`]; masks may mark several stretches.
///
/// # Errors
/// [`TrainError`]. The step that failed changed no weights; the last checkpoint stands.
pub fn sft<P, O>(
    policy: P,
    data: &[Sequence],
    observer: &mut O,
    config: &SftConfig,
    resume: &Resume,
) -> Result<Trained<P>, TrainError>
where
    P: Policy + Module,
    O: Observer + ?Sized,
{
    config.validate()?;
    if data.is_empty() {
        return Err(TrainError::Empty { step: 0 });
    }
    for (index, sequence) in data.iter().enumerate() {
        sequence.validate(DATA, index).map_err(|source| TrainError::Batch { step: 0, source })?;
    }
    let mut described =
        serde_json::to_value(config).map_err(|source| CheckpointError::Encode { source })?;
    described["data"] = digest(data).into();
    let mut learner = Learner::start(
        policy,
        resume,
        RunKind::Sft,
        &described,
        &["epochs", "max_steps", "checkpoint"],
        (config.optimizer, config.schedule, config.checkpoint.as_ref()),
    )?;
    let per_epoch = data.len().div_ceil(config.batch) as u64;
    let all = config.epochs.saturating_mul(per_epoch);
    let steps = config.max_steps.map_or(all, |most| most.min(all));
    let mut order = (u64::MAX, Vec::new());
    let mut saving = 0.0;
    while learner.step < steps {
        if observer.should_stop() {
            learner.save(true, observer)?;
            return Ok(learner.finish(End::Stopped));
        }
        let epoch = learner.step / per_epoch;
        if order.0 != epoch {
            order = (epoch, permutation(data.len(), config.seed, epoch));
        }
        let first = (learner.step % per_epoch) as usize * config.batch;
        let chosen = &order.1[first..data.len().min(first + config.batch)];
        let mut metrics;
        (learner, metrics) = step(learner, data, chosen, config)?;
        metrics.epoch = epoch;
        metrics.steps = steps;
        metrics.times.checkpoint = saving;
        let step = learner.step - 1;
        observer.on_sft_step(&metrics).map_err(|source| TrainError::Observer { step, source })?;
        let start = Instant::now();
        learner.save(learner.step == steps, observer)?;
        saving = start.elapsed().as_secs_f64();
    }
    Ok(learner.finish(End::Finished))
}

fn step<P: Policy + Module>(
    learner: Learner<P>,
    data: &[Sequence],
    chosen: &[usize],
    config: &SftConfig,
) -> Result<(Learner<P>, SftMetrics), TrainError> {
    let step = learner.step;
    let failed = |source| TrainError::Policy { step, source };
    let start = Instant::now();
    let pieces: Vec<Piece> = chosen
        .iter()
        .enumerate()
        .map(|(place, &index)| Piece {
            row: if config.packed { 0 } else { place },
            shared: 0,
            own: data[index].tokens.len(),
        })
        .collect();
    let runs = split_by_budget(&pieces, config.micro_batch_tokens);
    let trained: usize = chosen.iter().map(|&i| data[i].policy_tokens()).sum();
    let mut sums = Sums::default();
    let mut accumulator = GradientsAccumulator::<P>::new();
    for run in &runs {
        let members = &chosen[run.clone()];
        let sequences: Vec<&Sequence> = members.iter().map(|&index| &data[index]).collect();
        let row_tokens = config.packed.then_some(usize::MAX);
        let batch = TokenBatch::from_sequences(&sequences, row_tokens, 1.0)
            .map_err(|source| TrainError::Batch { step, source })?;
        let gradients = learner
            .policy
            .score_backward(&batch, &mut |scores| {
                sums.add(&batch, scores)?;
                let slope = -1.0 / trained as f32;
                let targets = batch.targets.len();
                let device = scores.log_prob.device();
                let (slopes, zeros) = (vec![slope; targets], vec![0.0; targets]);
                Ok(TokenScores::from_host(slopes, zeros, &device))
            })
            .map_err(|source| match source {
                PolicyError::NonFinite { sample, what, value, .. } if sample < members.len() => {
                    TrainError::NonFinite {
                        step,
                        id: DATA.to_owned(),
                        member: members[sample],
                        what,
                        value,
                    }
                }
                source => failed(source),
            })?;
        accumulator.accumulate(&learner.policy, gradients);
    }
    let gradient = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut gradients = accumulator.grads();
    let grad_norm = learner.clip(&mut gradients).map_err(failed)?;
    if !grad_norm.is_finite() {
        return Err(TrainError::NonFinite {
            step,
            id: DATA.to_owned(),
            member: chosen[0],
            what: "the gradient norm of the batch that starts with it",
            value: grad_norm,
        });
    }
    let learning_rate = learner.rate();
    let learner = learner.update(gradients).advance();
    let metrics = SftMetrics {
        step: step + 1,
        steps: 0,
        epoch: 0,
        samples: chosen.len(),
        trained_tokens: trained,
        tokens: sums.tokens,
        micro_batches: runs.len(),
        loss: -sums.log_prob / trained as f64,
        entropy: sums.entropy / trained as f64,
        grad_norm,
        learning_rate,
        times: PhaseTimes {
            gradient,
            update: start.elapsed().as_secs_f64(),
            ..PhaseTimes::default()
        },
    };
    Ok((learner, metrics))
}

#[derive(Default)]
struct Sums {
    tokens: usize,
    log_prob: f64,
    entropy: f64,
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

/// FNV-1a, 64 bits, over lengths, tokens and masks, in hex.
fn digest(data: &[Sequence]) -> String {
    let mut hash = FNV_START;
    for sequence in data {
        let len = (sequence.tokens.len() as u64).to_le_bytes();
        hash = len.into_iter().fold(hash, fnv);
        for (token, &made) in sequence.tokens.iter().zip(&sequence.policy_mask) {
            hash = token.to_le_bytes().into_iter().fold(hash, fnv);
            hash = fnv(hash, u8::from(made));
        }
    }
    format!("{hash:016x}")
}
