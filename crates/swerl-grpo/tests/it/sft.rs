//! Fine-tuning: it learns, ignores unmarked tokens, splits, packs, shuffles, resumes to the bit.

use std::collections::BTreeMap;
use std::path::Path;

use swerl_grpo::{
    CheckpointRule, End, Observer, ObserverError, OptimizerRule, Resume, Schedule, Sequence,
    SftConfig, SftMetrics, Silent, TrainError, Trained, sft,
};

use crate::support::{TinyPolicy, assert_close, mean_reward};

fn config() -> SftConfig {
    SftConfig {
        epochs: 3,
        max_steps: None,
        batch: 4,
        packed: false,
        micro_batch_tokens: 1000,
        seed: 5,
        optimizer: OptimizerRule::default(),
        schedule: Schedule::constant(0.02),
        checkpoint: None,
        identity: BTreeMap::new(),
    }
}

/// Answers that repeat the prompt's last token: what the rewards of the GRPO tests ask for.
fn data() -> Vec<Sequence> {
    let example = |i: u32| {
        let answer = vec![i % 11; 3 + (i % 2) as usize];
        Sequence::supervised(&[i % 3, i % 11], &answer)
    };
    (0..22).map(example).collect()
}

#[derive(Default)]
struct Recorder {
    steps: Vec<SftMetrics>,
    stop_after: Option<usize>,
}

impl Observer for Recorder {
    fn on_sft_step(&mut self, metrics: &SftMetrics) -> Result<(), ObserverError> {
        self.steps.push(metrics.clone());
        Ok(())
    }

    fn should_stop(&self) -> bool {
        self.stop_after.is_some_and(|most| self.steps.len() >= most)
    }
}

fn run(config: &SftConfig, resume: &Resume, recorder: &mut Recorder) -> Trained<TinyPolicy> {
    let seed = if *resume == Resume::Fresh { 1 } else { 2 };
    sft(TinyPolicy::new(seed), &data(), recorder, config, resume).unwrap()
}

#[test]
fn it_learns_the_answers() {
    let before = mean_reward(&TinyPolicy::new(1));
    let config = SftConfig { epochs: 15, ..config() };
    let mut recorder = Recorder::default();
    let trained = run(&config, &Resume::Fresh, &mut recorder);
    assert_eq!((trained.end, trained.steps), (End::Finished, 90));
    assert!(mean_reward(&trained.policy) > before + 0.4);
    let (first, last) = (&recorder.steps[0], recorder.steps.last().unwrap());
    assert!((first.loss - 11.0_f64.ln()).abs() < 0.5, "{}", first.loss);
    assert!(last.loss < 0.6 * first.loss, "{} {}", first.loss, last.loss);
    assert_eq!((last.step, last.steps, last.epoch), (90, 90, 14));
    // 22 sequences in steps of 4: the sixth of an epoch takes the last two.
    assert_eq!(recorder.steps[5].samples, 2);
    assert_eq!(recorder.steps[4].samples, 4);
    let tokens: usize = recorder.steps[..6].iter().map(|m| m.trained_tokens).sum();
    assert_eq!(tokens, 11 * 3 + 11 * 4);
}

#[test]
fn micro_batches_and_packing_change_neither_loss_nor_weights() {
    let mut whole = SftConfig { max_steps: Some(1), batch: 9, ..config() };
    whole.optimizer.eps = 1e3; // the update is linear in the gradient
    whole.schedule.peak = 1e3;
    let mut expected = Recorder::default();
    let policy = run(&whole, &Resume::Fresh, &mut expected).policy;
    assert_eq!(expected.steps[0].micro_batches, 1);
    for (packed, micro_batch_tokens) in [(false, 12), (false, 1), (true, 12), (true, 1000)] {
        let split = SftConfig { packed, micro_batch_tokens, ..whole.clone() };
        let mut found = Recorder::default();
        let trained = run(&split, &Resume::Fresh, &mut found);
        assert_close(&trained.policy.weights(), &policy.weights(), 2e-6);
        let (a, b) = (&found.steps[0], &expected.steps[0]);
        assert!((a.loss - b.loss).abs() < 1e-6);
        assert!((a.grad_norm - b.grad_norm).abs() < 1e-5);
        assert_eq!((a.tokens, a.trained_tokens), (b.tokens, b.trained_tokens));
        let one = micro_batch_tokens == 1000;
        assert_eq!(a.micro_batches == 1, one);
    }
}

#[test]
fn the_order_is_a_function_of_seed_and_epoch() {
    let losses = |seed| {
        let mut recorder = Recorder::default();
        run(&SftConfig { seed, ..config() }, &Resume::Fresh, &mut recorder);
        recorder.steps.iter().map(|m| m.loss).collect::<Vec<_>>()
    };
    assert_eq!(losses(5), losses(5));
    assert_ne!(losses(5), losses(6));
}

fn checkpointed(folder: &Path) -> SftConfig {
    SftConfig {
        checkpoint: Some(CheckpointRule { folder: folder.to_owned(), every: 4, keep: 1 }),
        ..config()
    }
}

#[test]
fn a_stopped_run_resumed_equals_an_undisturbed_one_to_the_bit() {
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let mut straight = Recorder::default();
    let whole = run(&checkpointed(folders[0].path()), &Resume::Fresh, &mut straight);
    let mut split = Recorder {
        stop_after: Some(7), // in the middle of the second epoch
        ..Recorder::default()
    };
    let config = checkpointed(folders[1].path());
    assert_eq!(run(&config, &Resume::Fresh, &mut split).end, End::Stopped);
    split.stop_after = None;
    let rest = run(&config, &Resume::Latest, &mut split);
    assert_eq!((rest.steps, rest.steps_run), (18, 11));
    assert_eq!(rest.policy.weights(), whole.policy.weights());
    let untimed = |steps: &[SftMetrics]| -> Vec<SftMetrics> {
        steps.iter().map(SftMetrics::without_times).collect()
    };
    assert_eq!(untimed(&split.steps), untimed(&straight.steps));

    // Other data is another run; more epochs are not.
    let mut other = data();
    other[3].tokens[2] += 1;
    let resume = Resume::Latest;
    let error =
        sft(TinyPolicy::new(1), &other, &mut Silent, &config, &resume).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("of another run; data: "), "{error}");
    let longer = SftConfig { epochs: 4, ..config };
    assert_eq!(run(&longer, &Resume::Latest, &mut Recorder::default()).steps_run, 6);
}

#[test]
fn malformed_data_and_configurations_are_refused() {
    let start = |data: &[Sequence], config: &SftConfig| {
        sft(TinyPolicy::new(1), data, &mut Silent, config, &Resume::Fresh).map(|_| ()).unwrap_err()
    };
    assert!(matches!(start(&[], &config()), TrainError::Empty { step: 0 }));
    let mut unmarked = data();
    unmarked[4].policy_mask.fill(false);
    let TrainError::Batch { source, .. } = start(&unmarked, &config()) else {
        panic!("not refused");
    };
    assert_eq!(source.to_string(), "the data, sequence 4: no token is marked as the policy's");
    let zero = SftConfig { batch: 0, ..config() };
    assert_eq!(start(&data(), &zero).to_string(), "batch = 0: it must be above 0 and finite");
}
