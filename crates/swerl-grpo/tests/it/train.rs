//! Whole runs: learning, splitting, masking, measuring, stopping.

use std::cell::Cell;

use swerl_grpo::loss::{CispoBound, Kl, KlEstimator, KlPlacement, OldLogProbs};
use swerl_grpo::{
    AdvantageRule, Advantages, End, Group, Observer, ObserverError, Preset, Resume, RolloutError,
    RolloutSource, StepMetrics, TrainConfig, TrainError, train,
};

use crate::support::{Repeats, TinyPolicy, assert_close, config, mean_reward};

/// Keeps metrics; asks to stop when `stop_after` steps are recorded.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) steps: Vec<StepMetrics>,
    pub(crate) stop_after: Option<usize>,
    pub(crate) checkpoints: Vec<u64>,
}

impl Observer for Recorder {
    fn on_step(&mut self, metrics: &StepMetrics) -> Result<(), ObserverError> {
        self.steps.push(metrics.clone());
        Ok(())
    }

    fn on_checkpoint(
        &mut self,
        checkpoint: &swerl_grpo::SavedCheckpoint,
    ) -> Result<(), ObserverError> {
        self.checkpoints.push(checkpoint.step);
        Ok(())
    }

    fn should_stop(&self) -> bool {
        self.stop_after.is_some_and(|most| self.steps.len() >= most)
    }
}

/// Groups of `inner`, changed.
pub(crate) struct Changed<F>(pub(crate) Repeats, pub(crate) F);

impl<F: FnMut(&mut Vec<Group>)> RolloutSource<TinyPolicy> for Changed<F> {
    fn collect(&mut self, step: u64, policy: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
        let mut groups = self.0.collect(step, policy)?;
        self.1(&mut groups);
        Ok(groups)
    }
}

pub(crate) fn run(
    source: &mut dyn RolloutSource<TinyPolicy>,
    config: &TrainConfig,
) -> Result<(TinyPolicy, Vec<StepMetrics>), TrainError> {
    let mut recorder = Recorder::default();
    let policy = TinyPolicy::new(1);
    let reference = config.objective.loss.kl.map(|_| policy.clone());
    let trained = train(policy, reference.as_ref(), source, &mut recorder, config, &Resume::Fresh)?;
    Ok((trained.policy, recorder.steps))
}

#[test]
fn a_synthetic_reward_rises_and_does_not_when_rewards_are_permuted() {
    let before = mean_reward(&TinyPolicy::new(1));
    assert!(before < 0.2, "{before}");
    let (policy, steps) = run(&mut Repeats::new(3), &config(120)).unwrap();
    let after = mean_reward(&policy);
    assert!(after > before + 0.4, "{before} {after}");
    assert_eq!(steps.len(), 120);
    assert!(steps.iter().all(|m| m.ratio_min == Some(1.0) || m.updates == 0));
    assert!(steps.iter().all(|m| m.sampler_difference_max.is_none_or(|d| d < 1e-4)));

    let mut permuted = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        for group in groups {
            group.rewards.rotate_left(2);
        }
    });
    let (policy, _) = run(&mut permuted, &config(120)).unwrap();
    let control = mean_reward(&policy);
    assert!(control < before + 0.15, "{before} {control}");
}

#[test]
fn every_preset_learns() {
    let before = mean_reward(&TinyPolicy::new(1));
    let presets = [
        Preset::SweRl,
        Preset::Verl,
        Preset::OpenRlhf,
        Preset::NemoRl,
        Preset::PrimeRl,
        Preset::SkyRl,
        Preset::Dapo,
        Preset::DrGrpo { length: 4 },
        Preset::Gspo,
        Preset::Cispo { bound: CispoBound::Absolute { cap: 5.0 } },
    ];
    for preset in presets {
        let config = TrainConfig { objective: preset.objective(), ..config(100) };
        let (policy, steps) = run(&mut Repeats::new(3), &config).unwrap();
        let after = mean_reward(&policy);
        assert!(after > before + 0.2, "{preset:?} {before} {after}");
        let kl = steps.last().unwrap().kl;
        assert_eq!(kl.is_some(), config.objective.loss.kl.is_some());
        assert!(preset != Preset::SweRl || kl.is_some_and(|kl| kl > 0.0));
    }
}

#[test]
fn micro_batches_change_neither_weights_nor_metrics() {
    let kl =
        |placement| Kl { estimator: KlEstimator::K3, placement, coefficient: 0.1, clamp: None };
    for (preset, placement) in [
        (Preset::Trl, KlPlacement::Loss),
        (Preset::SweRl, KlPlacement::Loss),
        (Preset::DrGrpo { length: 4 }, KlPlacement::Loss),
        (Preset::OpenRlhf, KlPlacement::Reward),
        (Preset::PrimeRl, KlPlacement::LossStraightThrough),
        (Preset::Cispo { bound: CispoBound::Absolute { cap: 5.0 } }, KlPlacement::Reward),
    ] {
        let mut whole = config(1);
        whole.objective = preset.objective();
        whole.objective.loss.kl = Some(kl(placement));
        whole.objective.loss.entropy = 0.01;
        // So that the update is linear in the gradient: eps dwarfs the second moment.
        whole.optimizer.eps = 1e3;
        whole.schedule.peak = 1e3;
        let (expected, metrics) = run(&mut Repeats::new(3), &whole).unwrap();
        assert_eq!(metrics[0].micro_batches, 1);
        for (tokens, least) in [(40, 2), (12, 5), (1, 15)] {
            let split = TrainConfig { micro_batch_tokens: tokens, ..whole.clone() };
            let (policy, found) = run(&mut Repeats::new(3), &split).unwrap();
            assert!(found[0].micro_batches >= least);
            assert_close(&policy.weights(), &expected.weights(), 2e-6);
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} {b}");
            close(found[0].loss, metrics[0].loss);
            close(found[0].grad_norm, metrics[0].grad_norm);
            close(found[0].kl.unwrap(), metrics[0].kl.unwrap());
            close(found[0].entropy.unwrap(), metrics[0].entropy.unwrap());
        }
    }
}

#[test]
fn the_metrics_of_a_step() {
    let mut source = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        groups[0].rewards = vec![Some(1.0), Some(0.0), None, Some(0.0), Some(0.0)];
        groups[1].rewards = vec![Some(0.5); 5];
        groups[2].rewards = vec![None, None, Some(0.25), Some(0.75), None];
    });
    let (_, steps) = run(&mut source, &config(1)).unwrap();
    let m = &steps[0];
    assert_eq!((m.step, m.groups, m.samples, m.unscored), (1, 3, 15, 4));
    assert_eq!(m.trained, 6);
    let mean = (1.0 + 2.5 + 1.0) / 11.0;
    assert!((m.reward_mean.unwrap() - mean).abs() < 1e-12);
    let squares = 1.0 + 5.0 * 0.25 + 0.0625 + 0.5625;
    let std = (squares / 11.0 - mean * mean).sqrt();
    assert!((m.reward_std.unwrap() - std).abs() < 1e-12);
    assert!((m.frac_reward_zero_std - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(m.truncated_fraction, 1.0);
    assert!(m.completion_length_min >= 3 && m.completion_length_max == 4);
    assert!((m.completion_length_mean - m.policy_tokens as f64 / 15.0).abs() < 1e-12);
    assert!(m.entropy.unwrap() > 2.0 && m.entropy.unwrap() < 11.0_f64.ln());
    assert!(m.updates == 1 && m.grad_norm > 0.0);
    assert_eq!(m.learning_rate, 0.05);
    assert_eq!(m.kl, None);
    assert!(m.times.total() > 0.0 && m.tokens_per_second() > 0.0);
}

#[test]
fn unjudged_samples_are_as_if_they_had_not_been_sampled() {
    let mut masked = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        for group in groups {
            group.rewards[1] = None;
        }
    });
    let mut removed = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        for group in groups {
            group.rewards.remove(1);
            group.sequences.remove(1);
        }
    });
    for preset in [Preset::Trl, Preset::SweRl] {
        let config = TrainConfig { objective: preset.objective(), ..config(2) };
        let (a, steps) = run(&mut masked, &config).unwrap();
        let (b, _) = run(&mut removed, &config).unwrap();
        assert_eq!(steps[0].unscored, 3);
        assert_eq!(a.weights(), b.weights());
    }
}

#[test]
fn a_step_without_a_signal_changes_nothing_and_says_so() {
    for rewards in [Some(0.5), None] {
        let mut flat = Changed(Repeats::new(3), move |groups: &mut Vec<Group>| {
            for group in groups {
                group.rewards = vec![rewards; 5];
            }
        });
        let (policy, steps) = run(&mut flat, &config(2)).unwrap();
        assert_eq!(policy.weights(), TinyPolicy::new(1).weights());
        assert_eq!(steps.len(), 2);
        let m = &steps[1];
        assert_eq!(m.updates, 0);
        assert_eq!((m.trained, m.grad_norm, m.entropy), (0, 0.0, None));
        assert_eq!(m.reward_mean, rewards);
        assert_eq!(m.frac_reward_zero_std, 1.0);
    }
}

#[test]
fn the_samplers_log_probs_as_denominator_show_in_ratio_and_clip_fraction() {
    let mut moved = Changed(Repeats::new(3), |groups: &mut Vec<Group>| {
        for sequence in groups.iter_mut().flat_map(|group| &mut group.sequences) {
            sequence.behaviour_log_probs[3] += 0.5; // the policy is less likely by e^-0.5
            sequence.weights_version = 99; // not of these weights: no mismatch
        }
    });
    let mut config = config(1);
    config.objective.loss.old = OldLogProbs::Behaviour;
    let (_, steps) = run(&mut moved, &config).unwrap();
    let m = &steps[0];
    assert!((m.ratio_min.unwrap() - (-0.5_f64).exp()).abs() < 1e-4);
    assert!((m.ratio_max.unwrap() - 1.0).abs() < 1e-4);
    assert!(m.clip_fraction_low > 0.0);
    assert_eq!(m.clip_fraction_high, 0.0);
    assert_eq!(m.sampler_difference_max, None);
}

#[test]
fn the_observer_sees_groups_stops_the_run_and_may_end_it() {
    struct Sees(Cell<usize>, Vec<Advantages>);
    impl Observer for Sees {
        fn on_groups(
            &mut self,
            _step: u64,
            groups: &[Group],
            advantages: &[Advantages],
        ) -> Result<(), ObserverError> {
            assert_eq!(groups.len(), advantages.len());
            self.1 = advantages.to_vec();
            Ok(())
        }

        fn on_step(&mut self, metrics: &StepMetrics) -> Result<(), ObserverError> {
            if metrics.step == 3 {
                return Err(ObserverError::new(std::io::Error::other("disk full")));
            }
            Ok(())
        }

        fn should_stop(&self) -> bool {
            self.0.set(self.0.get() + 1);
            false
        }
    }
    let mut sees = Sees(Cell::new(0), Vec::new());
    let mut source = Repeats::new(3);
    let result =
        train(TinyPolicy::new(1), None, &mut source, &mut sees, &config(9), &Resume::Fresh);
    assert_eq!(result.map(|_| ()).unwrap_err().to_string(), "step 2: the observer failed");
    assert_eq!(sees.0.get(), 3);
    let rule: AdvantageRule = config(1).objective.advantage;
    let rewards = source.collect(2, &TinyPolicy::new(1)).unwrap();
    assert_eq!(sees.1.len(), swerl_grpo::group_advantages(&rewards, &rule).len());

    let mut recorder = Recorder { stop_after: Some(2), ..Recorder::default() };
    let trained =
        train(TinyPolicy::new(1), None, &mut source, &mut recorder, &config(9), &Resume::Fresh)
            .unwrap();
    assert_eq!((trained.end, trained.steps, trained.steps_run), (End::Stopped, 2, 2));
    assert_eq!(trained.checkpoint, None);
}
