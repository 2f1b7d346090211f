//! Several updates on one batch: passes and parts.

use swerl_grpo::loss::OldLogProbs;
use swerl_grpo::{Group, RolloutError, RolloutSource, TrainConfig};

use crate::support::{Repeats, TinyPolicy, assert_close, config};
use crate::train::run;

/// The groups of one batch, one a step.
struct OneByOne(Vec<Group>);

impl RolloutSource<TinyPolicy> for OneByOne {
    fn collect(&mut self, step: u64, _: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
        Ok(vec![self.0[step as usize].clone()])
    }
}

/// On the sampler's log-probs nothing but the weights changes between updates.
fn off_policy(steps: u64) -> TrainConfig {
    let mut config = config(steps);
    config.objective.loss.old = OldLogProbs::Behaviour;
    config
}

#[test]
fn parts_are_steps_on_a_batch_that_was_sampled_before() {
    let whole = TrainConfig { minibatches: 3, ..off_policy(1) };
    let (expected, steps) = run(&mut Repeats::new(4), &whole).unwrap();
    let groups = Repeats::new(4).collect(0, &TinyPolicy::new(1)).unwrap();
    let (policy, singles) = run(&mut OneByOne(groups), &off_policy(3)).unwrap();
    assert_eq!(policy.weights(), expected.weights());
    assert_eq!((steps[0].updates, steps[0].micro_batches), (3, 3));
    let mean =
        |of: &dyn Fn(&swerl_grpo::StepMetrics) -> f64| singles.iter().map(of).sum::<f64>() / 3.0;
    assert!((steps[0].loss - mean(&|m| m.loss)).abs() < 1e-12);
    assert!((steps[0].grad_norm - mean(&|m| m.grad_norm)).abs() < 1e-12);
    assert_eq!(steps[0].trained_tokens, singles.iter().map(|m| m.trained_tokens).sum::<usize>());
    // There are no more parts than groups.
    let (policy, _) = run(&mut Repeats::new(4), &TrainConfig { minibatches: 9, ..whole }).unwrap();
    assert_eq!(policy.weights(), expected.weights());
}

#[test]
fn passes_keep_the_denominator_of_the_first_weights() {
    for (epochs, minibatches) in [(4, 1), (1, 3), (3, 2)] {
        let sampler = TrainConfig { epochs, minibatches, ..off_policy(2) };
        let mut own = sampler.clone();
        own.objective.loss.old = OldLogProbs::Current;
        let (expected, theirs) = run(&mut Repeats::new(4), &sampler).unwrap();
        let (policy, found) = run(&mut Repeats::new(4), &own).unwrap();
        // Adam turns rounding of gradients near 0 into steps, so not to the bit.
        assert_close(&policy.weights(), &expected.weights(), 2e-2);
        for (own, sampler) in found.iter().zip(&theirs) {
            assert_eq!(own.updates as u64, epochs * minibatches as u64);
            assert!(own.ratio_max.unwrap() > 1.2 && own.clip_fraction_high > 0.0);
            assert!((own.ratio_max.unwrap() - sampler.ratio_max.unwrap()).abs() < 2e-2);
            assert!(own.sampler_difference_max.unwrap() < 1e-5);
        }
    }
}

#[test]
fn what_is_measured_before_the_first_update_does_not_depend_on_the_passes() {
    let (_, once) = run(&mut Repeats::new(4), &config(1)).unwrap();
    let (_, often) = run(&mut Repeats::new(4), &TrainConfig { epochs: 5, ..config(1) }).unwrap();
    let (once, often) = (&once[0], &often[0]);
    assert_eq!((once.updates, often.updates), (1, 5));
    assert_eq!(once.trained_tokens, often.trained_tokens);
    assert_eq!(once.entropy, often.entropy);
    assert_eq!(once.sampler_difference_mean, often.sampler_difference_mean);
    assert_eq!((once.ratio_min, once.ratio_max), (Some(1.0), Some(1.0)));
    assert!(often.ratio_max > Some(1.0));
}
