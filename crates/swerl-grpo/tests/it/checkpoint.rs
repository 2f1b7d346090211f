//! Checkpoints: resuming gives the same bits, other runs are refused, nothing is torn.

use std::fs;
use std::path::Path;

use swerl_grpo::checkpoint::{list, read_state};
use swerl_grpo::loss::{Clip, Kl, KlEstimator, KlPlacement, Surrogate};
use swerl_grpo::{
    CheckpointRule, End, OptimizerRule, Resume, StepMetrics, TrainConfig, Trained, train,
};

use crate::support::{Repeats, TinyPolicy, config};
use crate::train::Recorder;

fn checkpointed(steps: u64, folder: &Path) -> TrainConfig {
    TrainConfig {
        optimizer: OptimizerRule { weight_decay: 0.1, ..OptimizerRule::default() },
        checkpoint: Some(CheckpointRule { folder: folder.to_owned(), every: 2, keep: 2 }),
        ..config(steps)
    }
}

/// Resumed runs start from other weights: the checkpoint's must replace them.
fn start(
    config: &TrainConfig,
    resume: &Resume,
    recorder: &mut Recorder,
) -> Result<Trained<TinyPolicy>, String> {
    let seed = if *resume == Resume::Fresh { 1 } else { 2 };
    let first = TinyPolicy::new(1);
    let reference = config.objective.loss.kl.map(|_| &first);
    let mut source = Repeats::new(3);
    let policy = TinyPolicy::new(seed);
    train(policy, reference, &mut source, recorder, config, resume).map_err(|e| e.to_string())
}

fn untimed(steps: &[StepMetrics]) -> Vec<StepMetrics> {
    steps.iter().map(StepMetrics::without_times).collect()
}

#[test]
fn three_steps_and_three_resumed_equal_six_to_the_bit() {
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let mut configs = folders.each_ref().map(|folder| checkpointed(6, folder.path()));
    for config in &mut configs {
        config.objective.loss.kl = Some(Kl {
            estimator: KlEstimator::K3,
            placement: KlPlacement::Loss,
            coefficient: 0.05,
            clamp: None,
        });
    }
    let [straight_config, split_config] = configs;
    let mut straight = Recorder::default();
    let whole = start(&straight_config, &Resume::Fresh, &mut straight).unwrap();
    assert_eq!((whole.end, whole.steps), (End::Finished, 6));

    let mut split = Recorder { stop_after: Some(3), ..Recorder::default() };
    let part = start(&split_config, &Resume::Fresh, &mut split).unwrap();
    assert_eq!((part.end, part.steps_run), (End::Stopped, 3));
    assert_eq!(part.checkpoint.unwrap().step, 3);
    split.stop_after = None;
    let rest = start(&split_config, &Resume::Latest, &mut split).unwrap();
    assert_eq!((rest.end, rest.steps, rest.steps_run), (End::Finished, 6, 3));

    assert_eq!(rest.policy.weights(), whole.policy.weights());
    assert_eq!(untimed(&split.steps), untimed(&straight.steps));
    assert_eq!(split.checkpoints, [2, 3, 4, 6]);
    assert_eq!(straight.checkpoints, [2, 4, 6]);
}

#[test]
fn the_newest_are_kept_and_an_older_one_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let steps = |folder: &Path| list(folder).unwrap().iter().map(|c| c.step).collect::<Vec<_>>();
    let config = checkpointed(6, folder.path());
    let whole = start(&config, &Resume::Fresh, &mut Recorder::default()).unwrap();
    assert_eq!(steps(folder.path()), [4, 6]);
    // Nothing but whole checkpoints lies there.
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["step-00000004", "step-00000006"]);

    // Done already: nothing is run, and the caller can tell.
    let again = start(&config, &Resume::Latest, &mut Recorder::default()).unwrap();
    assert_eq!((again.end, again.steps_run), (End::Finished, 0));
    assert_eq!(again.policy.weights(), whole.policy.weights());

    // From the older one on, and further than planned at first.
    let longer = checkpointed(7, folder.path());
    let from = Resume::From(folder.path().join("step-00000004"));
    let branch = start(&longer, &from, &mut Recorder::default()).unwrap();
    assert_eq!((branch.steps, branch.steps_run), (7, 3));
    assert_eq!(steps(folder.path()), [6, 7]);
}

#[test]
fn a_fresh_run_does_not_mix_with_an_earlier_ones_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let config = checkpointed(1, folder.path());
    // With nothing to resume, `Latest` is a fresh run.
    start(&config, &Resume::Latest, &mut Recorder::default()).unwrap();
    let error = start(&config, &Resume::Fresh, &mut Recorder::default()).unwrap_err();
    assert!(error.ends_with("resume, or choose an empty folder"), "{error}");
}

#[test]
fn another_runs_checkpoint_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let config = checkpointed(1, folder.path());
    start(&config, &Resume::Fresh, &mut Recorder::default()).unwrap();
    let check = |change: fn(&mut TrainConfig), expected: &str| {
        let mut config = checkpointed(2, folder.path());
        change(&mut config);
        let error = start(&config, &Resume::Latest, &mut Recorder::default()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    check(
        |c| {
            let clip = Clip { low: 0.2, high: 0.28, dual: None };
            c.objective.loss.surrogate = Surrogate::Clip(clip);
        },
        "a checkpoint of another run; objective.loss.clip.high: 0.2 in the checkpoint, 0.28 here",
    );
    check(
        |c| drop(c.identity.insert("model".to_owned(), "other".to_owned())),
        "identity.model: absent in the checkpoint, \"other\" here",
    );
    check(
        |c| c.optimizer.max_grad_norm = None,
        "optimizer.max_grad_norm: 1.0 in the checkpoint, null here",
    );

    // Another model.
    let path = folder.path().join("step-00000001/state.json");
    let mut state = read_state(path.parent().unwrap()).unwrap();
    let shape = state.parameters.remove("head").unwrap();
    state.parameters.insert("out.weight".to_owned(), shape);
    fs::write(&path, serde_json::to_vec(&state).unwrap()).unwrap();
    check(
        |_| (),
        "parameter head: absent in the checkpoint, [8, 11] here; parameter out.weight: [8, 11] in the checkpoint, absent here",
    );
}

#[test]
fn damaged_checkpoints_are_errors_that_name_the_file() {
    let damage = |change: fn(&Path), expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let config = checkpointed(1, folder.path());
        start(&config, &Resume::Fresh, &mut Recorder::default()).unwrap();
        let path = folder.path().join("step-00000001");
        change(&path);
        let from = Resume::From(path);
        let error = start(&config, &from, &mut Recorder::default()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    damage(
        |path| {
            let bytes = fs::read(path.join("policy.bpk")).unwrap();
            fs::write(path.join("policy.bpk"), &bytes[..bytes.len() / 2]).unwrap();
        },
        "policy.bpk: reading the parameters failed",
    );
    damage(
        |path| {
            let bytes = fs::read(path.join("optimizer.bpk")).unwrap();
            fs::write(path.join("optimizer.bpk"), &bytes[..bytes.len() / 2]).unwrap();
        },
        "optimizer.bpk: reading the optimizer failed",
    );
    damage(
        |path| fs::remove_file(path.join("optimizer.bpk")).unwrap(),
        "optimizer.bpk: reading the optimizer failed",
    );
    damage(
        |path| fs::write(path.join("state.json"), "{\"version\": 1,").unwrap(),
        "state.json: not a checkpoint's state",
    );
    damage(
        |path| fs::write(path.join("state.json"), "{\"version\": 9}").unwrap(),
        "state.json: checkpoint version 9, this program reads version 1",
    );
    damage(|path| fs::remove_dir_all(path).unwrap(), "state.json: reading failed");
}

#[test]
fn leftovers_of_a_killed_save_are_no_checkpoints_and_do_not_hinder() {
    let folder = tempfile::tempdir().unwrap();
    let config = checkpointed(2, folder.path());
    fs::create_dir_all(folder.path().join(".tmp-step-00000002/deeper")).unwrap();
    fs::create_dir_all(folder.path().join("step-00000099")).unwrap(); // no state.json
    let trained = start(&config, &Resume::Latest, &mut Recorder::default()).unwrap();
    assert_eq!(trained.steps_run, 2);
    assert!(!folder.path().join(".tmp-step-00000002").exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let config = checkpointed(2, &file.join("checkpoints"));
    let error = start(&config, &Resume::Latest, &mut Recorder::default()).unwrap_err();
    assert!(error.contains("file/checkpoints: "), "{error}");
}
