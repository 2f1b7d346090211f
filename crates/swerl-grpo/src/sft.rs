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

use crate::checkpoint::{CheckpointError, FNV_START, RunKind, fnv};
use crate::config::SftConfig;
use crate::error::TrainError;
use crate::learner::{End, Learner, Resume, Trained};
use crate::metrics::{PhaseTimes, SftMetrics};
use crate::observe::Observer;
use crate::policy::Policy;
use crate::random::permutation;
use crate::sequence::Sequence;
use crate::supervised::{Cut, DATA, accumulate};

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
    let members: Vec<&Sequence> = chosen.iter().map(|&index| &data[index]).collect();
    let trained: usize = members.iter().map(|sequence| sequence.policy_tokens()).sum();
    let mut accumulator = GradientsAccumulator::<P>::new();
    let cut = Cut { packed: config.packed, micro_batch_tokens: config.micro_batch_tokens };
    let weight = 1.0 / trained as f32;
    let sums = accumulate(&learner.policy, &members, weight, cut, &mut accumulator)
        .map_err(|failure| failure.at(step, |member| chosen[member]))?;
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
        micro_batches: sums.micro_batches,
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
