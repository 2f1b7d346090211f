//! A run that is killed at random moments, again and again, and resumed, ends with the bits of an
//! undisturbed one: metrics, weights, state; and nothing else is left in its folder.
//!
//! This program is both sides: with [`FOLDER`] set it is the run, otherwise it kills the run.

// All of it is a test.
#![allow(clippy::unwrap_used)]

#[path = "it/support.rs"]
#[allow(dead_code)]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use swerl_grpo::{
    CheckpointRule, Observer, ObserverError, Resume, StepMetrics, TrainConfig, checkpoint, train,
};

use support::{Repeats, TinyPolicy, config, noise};

/// Environment variable that names the run's folder.
const FOLDER: &str = "SWERL_KILLED_RUN";
const STEPS: u64 = 60;
/// Fewest kills of a running process.
const KILLS: u64 = 20;

fn main() {
    match std::env::var_os(FOLDER) {
        Some(folder) => run(Path::new(&folder)),
        None => drill(),
    }
}

/// Metrics as lines of a file, those beyond the checkpoint dropped on resuming.
struct Lines(fs::File);

impl Lines {
    fn open(folder: &Path) -> Self {
        let done = checkpoint::list(&folder.join("checkpoints")).unwrap().pop();
        let path = folder.join("metrics.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let kept: Vec<&str> =
            text.lines().take(done.map_or(0, |saved| saved.step as usize)).collect();
        let aside = folder.join("metrics.tmp");
        fs::write(&aside, kept.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        fs::rename(&aside, &path).unwrap();
        Self(fs::OpenOptions::new().append(true).open(path).unwrap())
    }
}

impl Observer for Lines {
    fn on_step(&mut self, metrics: &StepMetrics) -> Result<(), ObserverError> {
        let line = serde_json::to_string(&metrics.without_times()).map_err(ObserverError::new)?;
        self.0.write_all((line + "\n").as_bytes()).map_err(ObserverError::new)
    }
}

fn run(folder: &Path) {
    let checkpoints = folder.join("checkpoints");
    let checkpoint = CheckpointRule { folder: checkpoints.clone(), every: 2, keep: 2 };
    let config =
        TrainConfig { checkpoint: Some(checkpoint), epochs: 2, minibatches: 2, ..config(STEPS) };
    fs::create_dir_all(checkpoints).unwrap();
    let mut lines = Lines::open(folder);
    let policy = TinyPolicy::new(1);
    train(policy, None, &mut Repeats::new(3), &mut lines, &config, &Resume::Latest).unwrap();
}

fn start(folder: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program).env(FOLDER, folder).spawn().unwrap()
}

/// Every file by its path within `folder`.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// The bits of the weights of each checkpoint.
fn weights(folder: &Path) -> Vec<(u64, Vec<u32>)> {
    let bits = |path: &Path| {
        let policy = checkpoint::load_policy(path, TinyPolicy::new(2)).unwrap();
        policy.weights().into_iter().map(f32::to_bits).collect()
    };
    let saved = checkpoint::list(&folder.join("checkpoints")).unwrap();
    saved.iter().map(|saved| (saved.step, bits(&saved.path))).collect()
}

fn drill() {
    let dir = tempfile::tempdir().unwrap();
    let undisturbed = dir.path().join("undisturbed");
    fs::create_dir(&undisturbed).unwrap();
    assert!(start(&undisturbed).wait().unwrap().success());
    let expected = files(&undisturbed);
    assert!(expected.keys().any(|path| path.ends_with("metrics.jsonl")));
    assert!(expected.len() > 3, "{:?}", expected.keys());

    let (mut kills, mut runs) = (0, 0);
    while kills < KILLS {
        let folder = dir.path().join(format!("killed-{runs}"));
        fs::create_dir(&folder).unwrap();
        let mut lives = 0;
        loop {
            let mut child = start(&folder);
            lives += 1;
            // At first shorter than a start, later long enough for progress on slow machines.
            let most = 0.02 + 0.02 * lives as f64;
            sleep(Duration::from_secs_f64(most * noise(&[runs, lives])));
            match child.try_wait().unwrap() {
                Some(status) => {
                    assert!(status.success(), "a resumed run fails: {status}");
                    break;
                }
                None => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    kills += 1;
                }
            }
        }
        let found = files(&folder);
        assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found.keys(), expected.keys());
        for (path, bytes) in &expected {
            // The others name parameters by ids, which are new in every run.
            let text = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
            assert!(!text || found[path] == *bytes, "{} differs: {lives} lives", path.display());
        }
        assert_eq!(weights(&folder), weights(&undisturbed), "{lives} lives");
        runs += 1;
    }
    println!("{kills} kills in {runs} runs of {STEPS} steps: the bits of the undisturbed run");
}
