//! Rewards from another program: the example script, and programs that fail in every way.

use std::time::{Duration, Instant};

use swerl_data::SeedExample;
use swerl_grpo::Finish;
use swerl_rollout::{
    CollectError, CollectSettings, ExternalReward, Prompt, PromptBuilder, RewardCommand,
    RewardControl, RolloutStats, SamplingParams, ScoredGroup, Script, ScriptedSampler, Template,
    collect_judged,
};

use crate::support::{Bytes, right, seeds};

/// Two prompts with three completions: right, of no use, aborted.
fn run(
    command: RewardCommand,
) -> (Result<(Vec<ScoredGroup>, RolloutStats), CollectError>, ExternalReward) {
    let seeds = seeds(2);
    let refs: Vec<&SeedExample> = seeds.iter().collect();
    let mut sampler = ScriptedSampler::new(Bytes, |prompt: &Prompt, _, sample| match sample {
        0 => Script::stop(right(seeds.iter().find(|s| s.id == prompt.id).expect("known"))),
        1 => Script::stop("no \"idea\"\n\u{1F600}"),
        _ => Script { text: "cut".to_owned(), finish: Finish::Abort },
    });
    let settings = CollectSettings {
        samples_per_prompt: 3,
        params: SamplingParams::plain(500, &[Bytes::EOS]),
        seed: 3,
        shuffle_files: false,
        control: RewardControl::AsScored,
    };
    let builder = PromptBuilder::new(Bytes, Template::Compact, 1000);
    let mut reward = ExternalReward::start(command).expect("starts");
    let result = collect_judged(
        &(),
        &mut sampler,
        &builder,
        &refs,
        &settings,
        Some(&mut reward),
        4,
        &mut (),
    );
    (result, reward)
}

/// A program written in the shell.
fn shell(script: &str) -> RewardCommand {
    RewardCommand { timeout_s: 5.0, ..RewardCommand::new("sh", &["-c", script]) }
}

/// Answers each request with these rewards.
fn answering(rewards: &str) -> String {
    format!(
        "while read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%,*}}; \
         echo \"{{\\\"id\\\":$id,\\\"rewards\\\":{rewards}}}\"; done"
    )
}

fn rewards(groups: &[ScoredGroup]) -> Vec<Vec<Option<f64>>> {
    groups.iter().map(|group| group.rewards.clone()).collect()
}

#[test]
fn the_example_script_judges_in_trls_shape() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/reward-command/reward.py");
    let command = RewardCommand { processes: 2, ..RewardCommand::new("python3", &[script]) };
    let (result, reward) = run(command);
    let (groups, stats) = result.expect("judged");
    assert_eq!(rewards(&groups), vec![vec![Some(1.0), Some(0.0), None]; 2]);
    assert_eq!((stats.unjudged, stats.reward_mean), (2, 0.5));
    assert_eq!(stats.format_valid, 0.5, "format and similarity are the scores'");
    let counts = reward.counts();
    assert_eq!((counts.asked, counts.declined, counts.failed, counts.restarts), (4, 0, 0, 0));
}

#[test]
fn what_cannot_be_judged_is_masked_and_counted() {
    let (result, reward) = run(shell(&answering("[0.25,null]")));
    let (groups, stats) = result.expect("judged");
    assert_eq!(rewards(&groups), vec![vec![Some(0.25), None, None]; 2]);
    assert_eq!((stats.unjudged, stats.completions), (4, 6));
    assert_eq!(reward.counts().declined, 2);
    for group in &groups {
        group.to_group().validate().expect("masked members are well formed");
    }
}

/// A program without usable answers leaves its completions unjudged.
#[track_caller]
fn unjudged(script: &str, timeouts: u64) {
    let command = RewardCommand { timeout_s: 0.3, attempts: 2, ..shell(script) };
    let start = Instant::now();
    let (result, reward) = run(command);
    let (groups, stats) = result.expect("goes on");
    assert_eq!(rewards(&groups), vec![vec![None; 3]; 2], "{script}");
    assert_eq!(stats.unjudged, 6);
    let counts = reward.counts();
    assert_eq!((counts.failed, counts.timeouts, counts.restarts), (4, timeouts, 3), "{script}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn programs_that_fail_are_started_anew() {
    unjudged("sleep 60", 4);
    unjudged("sleep 60 & sleep 60", 4);
    unjudged("read -r line; exit 3", 0);
    unjudged("while read -r line; do echo nonsense; done", 0);
    unjudged(&answering("[1]"), 0);
    unjudged(&answering("[1,NaN]"), 0);
    unjudged("while read -r line; do echo '{\"id\":77,\"rewards\":[1,1]}'; done", 0);
    unjudged("printf '{\"id\":0,'; sleep 60", 4);
}

#[test]
fn one_failure_costs_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("failed");
    let script = format!(
        "if [ ! -e '{0}' ]; then : > '{0}'; exit 1; fi; {1}",
        mark.display(),
        answering("[1,0]")
    );
    let (result, reward) = run(shell(&script));
    let (groups, _) = result.expect("judged");
    assert_eq!(rewards(&groups), vec![vec![Some(1.0), Some(0.0), None]; 2]);
    assert_eq!((reward.counts().failed, reward.counts().restarts), (0, 1));
}

#[test]
fn a_program_that_never_works_stops_the_run_with_its_last_words() {
    let command = RewardCommand {
        max_failures: 3,
        ..shell("echo 'ImportError: no module named judge' >&2; exit 1")
    };
    let (result, _) = run(command);
    let error = result.expect_err("stops");
    let CollectError::Reward { step: 4, source } = error else { panic!("{error:?}") };
    let message = source.to_string();
    for part in ["sh failed 3 times", "shop/left#", "no module named judge"] {
        assert!(message.contains(part), "{message}");
    }
    let missing = ExternalReward::start(RewardCommand::new("no-such-program-at-all", &[]));
    assert!(missing.expect_err("not found").to_string().contains("no-such-program"));
}

#[cfg(unix)]
#[test]
fn nothing_is_left_running() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("beats");
    // A grandchild that writes as long as it lives.
    let script = format!(
        "(while :; do echo x >> '{}'; sleep 0.02; done) & {}",
        file.display(),
        answering("[1,0]")
    );
    let (result, reward) = run(shell(&script));
    result.expect("judged");
    std::thread::sleep(Duration::from_millis(100));
    drop(reward);
    std::thread::sleep(Duration::from_millis(100));
    let size = || std::fs::metadata(&file).expect("it wrote").len();
    let after = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), after);
}
