//! The GRPO loop: collect, compare, differentiate, update, measure, save.
//!
//! ```text
//! groups     = source.collect(step, policy)
//! advantages = rule(rewards of each group)                     f64, on the host
//! for each pass over the batch, for each of its parts:
//!     gradients = sum over micro-batches of d loss / d parameters, and the supervised term's
//!     policy    = AdamW(clip by global norm(gradients))
//! ```
//! One update per batch where passes and parts are one, as in the paper. With more, the ratio's
//! denominator stays at the weights that the step started with. The denominators of the loss are
//! those of the whole part, so micro-batches change gradients by rounding only. Samples without a gradient (advantage 0, no KL or entropy
//! term) are not computed; when there is none with one, the step changes no weights and says so.
//! A step is a function of its number, the weights and the optimizer's state, which a checkpoint
//! holds: a resumed run gives the same bits, provided that the source depends on them only.
//!
//! It refuses groups of one, rewards and scores that are not finite, and a sampler whose log-probs
//! are not the trainer's.

mod measure;
mod plan;

use std::time::Instant;

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};

use crate::advantage::{Advantages, batch_advantages};
use crate::checkpoint::RunKind;
use crate::config::TrainConfig;
use crate::error::{ConfigError, RolloutError, TrainError};
use crate::learner::{End, Learner, Resume, Trained};
use crate::metrics::{PhaseTimes, StepMetrics};
use crate::observe::Observer;
use crate::optimizer::global_norm;
use crate::policy::{Policy, PolicyError};
use crate::sequence::{Group, Sequence};
use crate::supervised::{self, Cut};
use measure::Measures;
use plan::{MicroBatch, StepPlan};

/// Where rollouts come from.
pub trait RolloutSource<P> {
    /// The groups of step `step` (from 0), sampled from `policy` or from an older version of it.
    ///
    /// Must depend on nothing but `step`, `policy` and what the source was built with, if a
    /// resumed run is to equal an undisturbed one.
    ///
    /// # Errors
    /// The source's own error.
    fn collect(&mut self, step: u64, policy: &P) -> Result<Vec<Group>, RolloutError>;

    /// The sequences of step `step` for the supervised term, asked for where its weight is above 0.
    /// Depends on `step` alone, as `collect`.
    ///
    /// # Errors
    /// The source's own error. A source that has none, the default, gives an empty list, which is
    /// refused.
    fn supervised(&mut self, step: u64) -> Result<Vec<Sequence>, RolloutError> {
        let _ = step;
        Ok(Vec::new())
    }
}

/// Trains `policy` by GRPO until `config.steps` steps are done or the observer asks to stop.
///
/// `reference` is the policy that a KL term pulls towards, usually a copy of the first weights;
/// it is only scored, so it may live without autodiff.
///
/// # Errors
/// [`TrainError`]. The step that failed changed no weights; the last checkpoint stands.
pub fn train<P, S, O>(
    policy: P,
    reference: Option<&P>,
    source: &mut S,
    observer: &mut O,
    config: &TrainConfig,
    resume: &Resume,
) -> Result<Trained<P>, TrainError>
where
    P: Policy + Module,
    S: RolloutSource<P> + ?Sized,
    O: Observer + ?Sized,
{
    config.validate()?;
    match (&config.objective.loss.kl, reference) {
        (Some(_), None) => return Err(ConfigError::ReferenceMissing.into()),
        (None, Some(_)) => return Err(ConfigError::ReferenceUnused.into()),
        _ => {}
    }
    let mut learner = Learner::start(
        policy,
        resume,
        RunKind::Grpo,
        config,
        &["steps", "checkpoint"],
        (config.optimizer, config.schedule, config.checkpoint.as_ref()),
    )?;
    let mut saving = 0.0;
    while learner.step < config.steps {
        if observer.should_stop() {
            learner.save(true, observer)?;
            return Ok(learner.finish(End::Stopped));
        }
        let mut metrics;
        (learner, metrics) = step(learner, reference, source, observer, config)?;
        metrics.times.checkpoint = saving;
        let step = learner.step - 1;
        observer.on_step(&metrics).map_err(|source| TrainError::Observer { step, source })?;
        let start = Instant::now();
        learner.save(learner.step == config.steps, observer)?;
        saving = start.elapsed().as_secs_f64();
    }
    Ok(learner.finish(End::Finished))
}

/// The advantages of each group by `rule`.
///
/// # Panics
/// As [`batch_advantages`].
#[must_use]
pub fn group_advantages(
    groups: &[Group],
    rule: &crate::advantage::AdvantageRule,
) -> Vec<Advantages> {
    let rewards: Vec<&[Option<f64>]> = groups.iter().map(|group| &group.rewards[..]).collect();
    batch_advantages(&rewards, rule)
}

fn step<P, S, O>(
    learner: Learner<P>,
    reference: Option<&P>,
    source: &mut S,
    observer: &mut O,
    config: &TrainConfig,
) -> Result<(Learner<P>, StepMetrics), TrainError>
where
    P: Policy + Module,
    S: RolloutSource<P> + ?Sized,
    O: Observer + ?Sized,
{
    let step = learner.step;
    let mut times = PhaseTimes::default();
    let start = Instant::now();
    let groups = source
        .collect(step, &learner.policy)
        .map_err(|source| TrainError::Rollout { step, source })?;
    times.collect = start.elapsed().as_secs_f64();
    plan::check(step, &groups)?;
    let advantages = group_advantages(&groups, &config.objective.advantage);
    plan::check_advantages(step, &groups, &advantages)?;
    observer
        .on_groups(step, &groups, &advantages)
        .map_err(|source| TrainError::Observer { step, source })?;

    let answers = supervised_sequences(source, step, config)?;
    let plans = StepPlan::parts(&groups, &advantages, config);
    let mut measures = Measures::new(step, config);
    let rate = learner.rate();
    let mut norms = 0.0;
    let mut supervised_loss = None;
    let start = Instant::now();
    let mut old = starting_log_probs(&learner.policy, &groups, &plans, config)
        .map_err(|(micro, source)| plan::name_sample(step, &groups, micro, source))?;
    times.gradient = start.elapsed().as_secs_f64();
    let mut learner = learner;
    for pass in 0..config.epochs {
        for (plan, old) in plans.iter().zip(&mut old).filter(|(plan, _)| !plan.is_empty()) {
            let start = Instant::now();
            let mut accumulator = GradientsAccumulator::<P>::new();
            let keep = old.is_empty() && config.epochs > 1;
            let mut kept = Vec::new();
            for (index, micro) in plan.micro_batches().enumerate() {
                let started = old.get(index).map(Vec::as_slice);
                let parts = (reference, started);
                let gradients =
                    differentiate(&learner.policy, parts, &groups, micro, config, |measured| {
                        if keep {
                            kept.push(measured.log_prob().to_vec());
                        }
                        measures.add(measured);
                    })
                    .map_err(|source| plan::name_sample(step, &groups, micro, source))?;
                accumulator.accumulate(&learner.policy, gradients);
            }
            if keep {
                *old = kept;
            }
            if !answers.is_empty() {
                let loss = add_supervised(&learner.policy, &answers, config, &mut accumulator)
                    .map_err(|failure| failure.at(step, |member| member))?;
                supervised_loss.get_or_insert(loss);
            }
            if pass == 0 {
                measures.check(step, &groups)?;
            }
            times.gradient += start.elapsed().as_secs_f64();

            let start = Instant::now();
            let mut gradients = accumulator.grads();
            let norm = learner
                .clip(&mut gradients)
                .map_err(|source| TrainError::Policy { step, source })?;
            let failed = |what, value| {
                locate(&learner.policy, reference, &groups, plan, config, step, (what, value))
            };
            if !norm.is_finite() {
                return Err(failed("the batch's gradient norm", norm));
            }
            if !measures.loss().is_finite() {
                return Err(failed("the batch's loss", measures.loss()));
            }
            norms += norm;
            learner = learner.update(gradients);
            measures.end_update();
            times.update += start.elapsed().as_secs_f64();
        }
        measures.end_pass();
    }
    let mut metrics = measures.metrics(&groups, &advantages, &plans);
    metrics.grad_norm = norms / metrics.updates.max(1) as f64;
    metrics.learning_rate = rate;
    metrics.supervised_loss = supervised_loss;
    metrics.times = times;
    Ok((learner.advance(), metrics))
}

/// What the supervised term is computed on; empty where there is none.
fn supervised_sequences<P, S: RolloutSource<P> + ?Sized>(
    source: &mut S,
    step: u64,
    config: &TrainConfig,
) -> Result<Vec<Sequence>, TrainError> {
    if config.supervised_weight == 0.0 {
        return Ok(Vec::new());
    }
    let answers = source.supervised(step).map_err(|source| TrainError::Rollout { step, source })?;
    if answers.is_empty() {
        return Err(TrainError::Empty { step });
    }
    for (index, answer) in answers.iter().enumerate() {
        answer
            .validate(supervised::DATA, index)
            .map_err(|source| TrainError::Batch { step, source })?;
    }
    Ok(answers)
}

/// Adds the supervised term's gradient; its cross-entropy in nats a token.
fn add_supervised<P: Policy + Module>(
    policy: &P,
    answers: &[Sequence],
    config: &TrainConfig,
    accumulator: &mut GradientsAccumulator<P>,
) -> Result<f64, supervised::Failure> {
    let answers: Vec<&Sequence> = answers.iter().collect();
    let tokens: usize = answers.iter().map(|answer| answer.policy_tokens()).sum();
    let weight = config.supervised_weight / answers.len() as f64;
    let cut = Cut { packed: false, micro_batch_tokens: config.micro_batch_tokens };
    let sums = supervised::accumulate(policy, &answers, weight as f32, cut, accumulator)?;
    Ok(-sums.log_prob / tokens as f64)
}

/// The policy's log-probs before the first update, of each plan's micro-batches. Empty for a plan
/// whose first pass gives them, because no update comes before it.
fn starting_log_probs<'p, P: Policy>(
    policy: &P,
    groups: &[Group],
    plans: &'p [StepPlan],
    config: &TrainConfig,
) -> Result<Vec<Vec<Vec<f32>>>, (MicroBatch<'p>, PolicyError)> {
    let updated_before = |plan: usize| plans[..plan].iter().any(|plan| !plan.is_empty());
    let scored = |micro: MicroBatch<'p>| {
        let batch = micro.batch(groups, config.temperature).map_err(PolicyError::from);
        let scores = batch.and_then(|batch| policy.score(&batch)).and_then(|s| s.to_host());
        scores.map(|(log_prob, _)| log_prob).map_err(|source| (micro, source))
    };
    plans
        .iter()
        .enumerate()
        .map(|(index, plan)| {
            let micros = plan.micro_batches().filter(|_| updated_before(index));
            micros.map(scored).collect()
        })
        .collect()
}

/// Gradients of one micro-batch's share of the loss; what it measured goes to `add`. The log-probs
/// of the step's first weights are `None` while those are the policy's.
fn differentiate<P: Policy>(
    policy: &P,
    (reference, old): (Option<&P>, Option<&[f32]>),
    groups: &[Group],
    micro: MicroBatch<'_>,
    config: &TrainConfig,
    mut add: impl FnMut(measure::Measured<'_>),
) -> Result<GradientsParams, PolicyError> {
    let batch = micro.batch(groups, config.temperature)?;
    let reference = reference.map(|policy| policy.score(&batch)).transpose()?;
    let data = micro.data(groups, &batch, old);
    policy.score_backward(&batch, &mut |scores| {
        let (measured, upstream) = data.upstream(scores, reference.as_ref(), config)?;
        add(measured);
        Ok(upstream)
    })
}

/// Names the first sample whose own gradient or loss is not finite, after one of the batch was not.
fn locate<P: Policy + Module>(
    policy: &P,
    reference: Option<&P>,
    groups: &[Group],
    plan: &StepPlan,
    config: &TrainConfig,
    step: u64,
    (what, value): (&'static str, f64),
) -> TrainError {
    for single in plan.singles() {
        let mut measures = Measures::new(step, config);
        let found =
            differentiate(policy, (reference, None), groups, single, config, |m| measures.add(m))
                .and_then(|gradients| global_norm(policy, &gradients));
        let loss = measures.loss();
        match found {
            Ok(norm) if !norm.is_finite() => {
                return plan::not_finite(step, groups, single, "the gradient norm", norm);
            }
            Ok(_) if !loss.is_finite() => {
                return plan::not_finite(step, groups, single, "the loss", loss);
            }
            Ok(_) => {}
            Err(source) => return plan::name_sample(step, groups, single, source),
        }
    }
    // Each alone is finite: the sum overflowed.
    match plan.singles().next() {
        Some(first) => plan::not_finite(step, groups, first, what, value),
        None => TrainError::Empty { step },
    }
}
