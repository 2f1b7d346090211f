//! What a run refuses: a sampler that disagrees, numbers that are none, groups that teach nothing,
//! wrong configurations. Each is one line that says where.

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use swerl_grpo::loss::{
    Clip, OldLogProbs, ProbabilityMask, RatioLevel, Surrogate, TruncatedImportance,
};
use swerl_grpo::{
    Group, Preset, Resume, RolloutError, RolloutSource, SamplerCheck, Silent, TrainConfig,
    TrainError, train,
};

use crate::support::{Repeats, TinyPolicy, config};
use crate::train::{Changed, run};

fn error(source: &mut dyn RolloutSource<TinyPolicy>, config: &TrainConfig) -> TrainError {
    run(source, config).map(|_| ()).unwrap_err()
}

#[test]
fn a_sampler_at_another_temperature_is_refused() {
    let mut source = Repeats { temperature: 0.6, ..Repeats::new(3) };
    let TrainError::SamplerMismatch { step, mean, max, .. } = error(&mut source, &config(1)) else {
        panic!("not refused");
    };
    assert_eq!(step, 0);
    assert!(mean > 1e-3 && max > mean);
    // At the same temperature on both sides it holds.
    let mut same = config(1);
    same.temperature = 0.6;
    run(&mut source, &same).unwrap();
    // And one may do without.
    let mut unchecked = config(1);
    unchecked.sampler_check = None;
    let (_, steps) = run(&mut source, &unchecked).unwrap();
    assert_eq!(steps[0].sampler_difference_mean, None);
}

#[test]
fn one_wrong_token_is_found_and_its_sequence_named() {
    let mut source = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        groups[1].sequences[3].behaviour_log_probs[4] -= 0.3;
    });
    let mut config = config(1);
    config.objective.loss.entropy = 0.001; // so that every sample is computed
    config.sampler_check = Some(SamplerCheck { mean: 1.0, max: 0.1 });
    let text = error(&mut source, &config).to_string();
    assert!(text.contains("worst in sequence 3 of prompt 1"), "{text}");
    assert!(text.starts_with("step 0: sampler and trainer disagree"), "{text}");
}

#[test]
fn a_weight_that_is_no_number_stops_the_run_and_names_a_sample() {
    let mut policy = TinyPolicy::new(1);
    let device = policy.embed.val().device();
    let mut values = policy.bias.val().into_data().try_into_vec::<f32>().unwrap();
    values[0] = f32::NAN;
    policy.bias = Param::<Tensor<1>>::from_data(TensorData::new(values, [11]), &device);
    let mut healthy = Fixed(Repeats::new(3).collect(0, &TinyPolicy::new(1)).unwrap());
    let error = train(policy, None, &mut healthy, &mut Silent, &config(1), &Resume::Fresh)
        .map(|_| ())
        .unwrap_err();
    let TrainError::NonFinite { what, member, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((what, member), ("log-prob", 0));
}

#[track_caller]
fn not_finite(error: &TrainError) -> (&str, usize, &str) {
    let TrainError::NonFinite { id, member, what, .. } = error else {
        panic!("{error}");
    };
    (id, *member, what)
}

#[test]
fn a_log_prob_of_the_sampler_that_is_no_number_names_its_sample() {
    let mut source = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        groups[1].sequences[2].behaviour_log_probs[3] = f32::NAN;
    });
    let mut config = config(1);
    config.objective.loss.entropy = 0.001; // so that every sample is computed
    let checked = error(&mut source, &config);
    config.sampler_check = None;
    let mut rules = [config.objective.loss; 3];
    rules[0].old = OldLogProbs::Behaviour;
    rules[1].drift = Some(0.1);
    rules[2].truncated_importance =
        Some(TruncatedImportance { level: RatioLevel::Token, cap: 2.0 });
    let mut errors = vec![checked];
    for loss in rules {
        config.objective.loss = loss;
        errors.push(error(&mut source, &config));
    }
    for error in errors {
        assert_eq!(not_finite(&error), ("prompt 1", 2, "behaviour log-prob"));
    }
}

#[test]
fn a_gradient_that_overflows_names_its_sample() {
    let mut source = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        groups[1].rewards[0] = Some(1e300);
    });
    let config = TrainConfig { objective: Preset::DrGrpo { length: 4 }.objective(), ..config(1) };
    let error = error(&mut source, &config);
    assert_eq!(not_finite(&error), ("prompt 1", 0, "the gradient norm"));
}

#[test]
fn a_std_that_overflows_and_a_loss_that_does_name_their_sample() {
    let mut source = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        groups[1].rewards[0] = Some(1e300);
    });
    assert_eq!(not_finite(&error(&mut source, &config(1))), ("prompt 1", 0, "the advantage"));

    // Member 0 lies beyond the clamp of the log-ratio and member 1 beyond the clip: no gradient.
    let pair = Repeats { prompts: 1, samples: 2, ..Repeats::new(3) };
    let mut source = Changed(pair, |groups: &mut Vec<Group>| {
        groups[0].rewards = vec![Some(-2e38), Some(2e38)];
        for (sequence, by) in groups[0].sequences.iter_mut().zip([30.0, -0.5]) {
            for value in &mut sequence.behaviour_log_probs {
                *value += by;
            }
        }
    });
    let mut objective = Preset::DrGrpo { length: 1 }.objective();
    objective.loss.old = OldLogProbs::Behaviour;
    objective.loss.surrogate = Surrogate::Clip(Clip { low: 1.0, high: 0.2, dual: None });
    let config = TrainConfig { objective, sampler_check: None, ..config(1) };
    assert_eq!(not_finite(&error(&mut source, &config)), ("prompt 0", 1, "the loss"));
}

/// The same groups at every step.
struct Fixed(Vec<Group>);

impl RolloutSource<TinyPolicy> for Fixed {
    fn collect(&mut self, _step: u64, _policy: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
        Ok(self.0.clone())
    }
}

#[test]
fn groups_that_teach_nothing_and_sources_that_fail_end_the_run() {
    let check = |change: fn(&mut Vec<Group>), expected: &str| {
        let text = error(&mut Changed(Repeats::new(3), change), &config(1)).to_string();
        assert!(text.contains(expected), "{text}");
    };
    check(Vec::clear, "step 0: there is nothing to train on");
    check(
        |groups| {
            groups[1].rewards.truncate(1);
            groups[1].sequences.truncate(1);
        },
        "group prompt 1 has one sequence",
    );
    check(|groups| groups[0].rewards.clear(), "step 0: malformed input");

    struct Fails;
    impl RolloutSource<TinyPolicy> for Fails {
        fn collect(&mut self, _: u64, _: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
            Err(RolloutError::new(std::io::Error::other("engine is gone")))
        }
    }
    let error = error(&mut Fails, &config(1));
    let TrainError::Rollout { source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(source.to_string(), "engine is gone");
    assert!(source.downcast_ref::<std::io::Error>().is_some());
}

#[test]
fn wrong_configurations_are_one_line_with_the_field() {
    let check = |change: fn(&mut TrainConfig), expected: &str| {
        let mut config = config(1);
        change(&mut config);
        let result = train(
            TinyPolicy::new(1),
            None,
            &mut Repeats::new(1),
            &mut Silent,
            &config,
            &Resume::Fresh,
        );
        let text = result.map(|_| ()).unwrap_err().to_string();
        assert_eq!(text, expected);
    };
    check(
        |c| {
            let clip = Clip { low: 1.5, high: 0.2, dual: None };
            c.objective.loss.surrogate = Surrogate::Clip(clip);
        },
        "loss.clip.low = 1.5: it must be from 0 to 1",
    );
    check(
        |c| {
            let mask = ProbabilityMask { low: 0.2, high: 2.0 };
            c.objective.loss.surrogate = Surrogate::Mask(mask);
        },
        "loss.mask.high = 2: it must be from 0 to 1",
    );
    check(|c| c.objective.loss.drift = Some(0.0), "loss.drift = 0: it must be above 0 and finite");
    check(
        |c| {
            let rule = TruncatedImportance { level: RatioLevel::Sequence, cap: 2.0 };
            c.objective.loss.truncated_importance = Some(rule);
            c.objective.loss.old = OldLogProbs::Behaviour;
        },
        "loss.truncated_importance is set, but loss.old is behaviour: the weight would be 1 everywhere; leave it out, or set loss.old to current",
    );
    check(|c| c.schedule.peak = f64::NAN, "schedule.peak = NaN: it must be above 0 and finite");
    check(
        |c| c.supervised_weight = -1.0,
        "supervised_weight = -1: it must be at least 0 and finite",
    );
    check(|c| c.epochs = 0, "epochs = 0: it must be above 0 and finite");
    check(|c| c.minibatches = 0, "minibatches = 0: it must be above 0 and finite");
    check(|c| c.micro_batch_tokens = 0, "micro_batch_tokens = 0: it must be above 0 and finite");
    check(|c| c.optimizer.beta2 = 1.0, "optimizer.beta2 = 1: it must be from 0 to below 1");
    check(
        |c| c.objective = Preset::SweRl.objective(),
        "loss.kl is set, but there is no reference policy: pass one, or leave loss.kl out",
    );
}
