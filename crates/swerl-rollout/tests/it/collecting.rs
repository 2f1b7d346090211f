//! Groups from a scripted sampler: rewards, figures, order, the control experiment.

use std::collections::BTreeSet;

use swerl_data::SeedExample;
use swerl_grpo::Finish;
use swerl_rollout::{
    CollectSettings, Prompt, PromptBuilder, RewardControl, RolloutObserver, RolloutStats,
    SamplingParams, Script, ScriptedSampler, SeedRollouts, Template, collect,
};

use crate::support::{Bytes, right, seeds, wrong};

fn settings(control: RewardControl) -> CollectSettings {
    CollectSettings {
        samples_per_prompt: 4,
        params: SamplingParams::plain(1000, &[Bytes::EOS]),
        seed: 3,
        shuffle_files: true,
        control,
    }
}

fn builder() -> PromptBuilder<Bytes> {
    PromptBuilder::new(Bytes, Template::Compact, 1000)
}

/// Sample 0 is right, 1 wrong, 2 breaks the format, 3 is aborted.
fn script(seeds: &[SeedExample]) -> impl FnMut(&Prompt, u64, u64) -> Script {
    move |prompt, _, sample| {
        let seed = seeds.iter().find(|seed| seed.id == prompt.id).expect("a known prompt");
        match sample {
            0 => Script::stop(right(seed)),
            1 => Script::stop(wrong(seed)),
            2 => Script { text: "no idea".to_owned(), finish: Finish::Length },
            _ => Script { text: right(seed), finish: Finish::Abort },
        }
    }
}

#[test]
fn rewards_masks_and_figures() {
    let seeds = seeds(3);
    let refs: Vec<&SeedExample> = seeds.iter().collect();
    let mut sampler = ScriptedSampler::new(Bytes, script(&seeds));
    let settings = settings(RewardControl::AsScored);
    let (groups, stats) =
        collect(&(), &mut sampler, &builder(), &refs, &settings, 5, &mut ()).expect("collected");
    for (group, seed) in groups.iter().zip(&seeds) {
        assert_eq!(group.prompt.id, seed.id);
        assert_eq!(group.rewards[0], Some(1.0));
        let similar = group.rewards[1].expect("judged");
        assert!(similar > 0.5 && similar < 1.0, "{similar}");
        assert_eq!(group.rewards[2], Some(-1.0));
        assert_eq!(group.rewards[3], None);
        let trained = group.to_group();
        trained.validate().expect("a well-formed group");
        assert_eq!(trained.id, seed.id);
        let last = |sample: usize| trained.sequences[sample].tokens.last().copied();
        assert_eq!(last(0), Some(Bytes::EOS));
        assert_eq!(last(2), Some(u32::from(b'a')));
        assert_eq!(trained.sequences[0].weights_version, 5);
    }
    assert_eq!((stats.step, stats.prompts, stats.completions, stats.unjudged), (5, 3, 12, 3));
    let third = 1.0 / 3.0;
    for (figure, expected) in
        [(stats.format_valid, 2.0 * third), (stats.exact, third), (stats.truncated, third)]
    {
        assert!((figure - expected).abs() < 1e-12, "{stats:?}");
    }
    let similar = groups[0].rewards[1].expect("judged");
    assert!((stats.valid_similarity.expect("some are valid") - (1.0 + similar) / 2.0).abs() < 1e-3);
    assert_eq!(stats.outcomes["scored"], 6);
    assert_eq!(stats.outcomes["tags"], 3);
    assert_eq!(stats.completion_tokens as usize, {
        groups.iter().flat_map(|g| &g.completions).map(|c| c.ids.len()).sum::<usize>()
    });
}

#[test]
fn the_control_permutes_rewards_within_groups_and_nothing_else() {
    let seeds = seeds(8);
    let refs: Vec<&SeedExample> = seeds.iter().collect();
    let mut moved = 0;
    for step in 0..4 {
        let run = |control| {
            let mut sampler = ScriptedSampler::new(Bytes, script(&seeds));
            collect(&(), &mut sampler, &builder(), &refs, &settings(control), step, &mut ())
                .expect("collected")
        };
        let (truth, stats) = run(RewardControl::AsScored);
        let (control, control_stats) = run(RewardControl::PermutedInGroup);
        let (again, _) = run(RewardControl::PermutedInGroup);
        let without_times =
            |stats: &RolloutStats| RolloutStats { sample_s: 0.0, score_s: 0.0, ..stats.clone() };
        assert_eq!(without_times(&stats), without_times(&control_stats));
        for ((truth, control), again) in truth.iter().zip(&control).zip(&again) {
            assert_eq!(control.rewards, again.rewards);
            assert_eq!(truth.completions, control.completions);
            assert_eq!(truth.scores, control.scores);
            let sorted = |rewards: &[Option<f64>]| {
                let mut bits: Vec<_> = rewards.iter().map(|r| r.map(f64::to_bits)).collect();
                bits.sort_unstable();
                bits
            };
            assert_eq!(sorted(&truth.rewards), sorted(&control.rewards));
            moved += usize::from(truth.rewards != control.rewards);
        }
    }
    assert!(moved > 24, "{moved} of 32 groups moved");
}

#[test]
fn an_epoch_uses_each_seed_once_and_a_resumed_run_goes_on() {
    let seeds = seeds(10);
    let make = |seed| {
        let sampler = ScriptedSampler::new(Bytes, script(&seeds));
        let settings = CollectSettings { seed, ..settings(RewardControl::AsScored) };
        SeedRollouts::new(&seeds, sampler, builder(), settings, 4).expect("valid settings")
    };
    let steps = |rollouts: &mut SeedRollouts<'_, _, _>,
                 steps: std::ops::Range<u64>|
     -> Vec<usize> { steps.flat_map(|step| rollouts.indices(step)).collect() };
    let all = steps(&mut make(3), 0..10);
    for epoch in all.chunks(10) {
        assert_eq!(epoch.iter().collect::<BTreeSet<_>>().len(), 10);
    }
    assert_ne!(all[..10], all[10..20]);
    assert_eq!(steps(&mut make(3), 4..10), all[16..]);
    assert_ne!(steps(&mut make(4), 0..10), all);
    let mut rollouts = make(3);
    let groups = rollouts.groups(2, &()).expect("collected");
    let ids: Vec<&str> = groups.iter().map(|group| group.id.as_str()).collect();
    let expected: Vec<&str> = all[8..12].iter().map(|&index| seeds[index].id.as_str()).collect();
    assert_eq!(ids, expected);
    assert_eq!(rollouts.last_stats().map(|stats| stats.step), Some(2));
}

#[test]
fn settings_that_make_no_group_are_refused() {
    let seeds = seeds(1);
    let sampler = || ScriptedSampler::new(Bytes, |_: &Prompt, _, _| Script::stop("x"));
    let settings = settings(RewardControl::AsScored);
    let none = CollectSettings { samples_per_prompt: 0, ..settings.clone() };
    let cases = [
        SeedRollouts::new(&[], sampler(), builder(), settings.clone(), 4).err(),
        SeedRollouts::new(&seeds, sampler(), builder(), settings, 0).err(),
        SeedRollouts::new(&seeds, sampler(), builder(), none, 1).err(),
    ];
    let messages = cases.map(|error| error.expect("refused").to_string());
    for (message, named) in messages.iter().zip(["no seeds", "prompts_per_step", "samples_per"]) {
        assert!(message.contains(named), "{message}");
    }
}

struct Stop;

impl RolloutObserver for Stop {
    fn should_stop(&self) -> bool {
        true
    }
}

#[test]
fn a_wish_to_stop_ends_collection() {
    let seeds = seeds(2);
    let refs: Vec<&SeedExample> = seeds.iter().collect();
    let mut sampler = ScriptedSampler::new(Bytes, script(&seeds));
    let settings = settings(RewardControl::AsScored);
    let error = collect(&(), &mut sampler, &builder(), &refs, &settings, 0, &mut Stop)
        .expect_err("interrupted");
    assert!(error.is_interruption(), "{error:?}");
}
