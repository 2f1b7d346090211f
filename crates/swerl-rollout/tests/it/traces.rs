//! Traces are read back as written, resumed without a seam, and refused with a line number.

use std::path::Path;

use proptest::prelude::*;
use swerl_data::SeedExample;
use swerl_grpo::Finish;
use swerl_rollout::{
    CollectSettings, Completion, Prompt, PromptBuilder, RewardControl, SamplingParams, ScoredGroup,
    Script, ScriptedSampler, Template, Timings, TraceLimits, TraceRecord, TraceWriter, collect,
    read_trace, score, trace_parts,
};

use crate::support::{Bytes, right, seeds};

fn groups(step: u64) -> Vec<ScoredGroup> {
    let seeds = seeds(2);
    let refs: Vec<&SeedExample> = seeds.iter().collect();
    let settings = CollectSettings {
        samples_per_prompt: 3,
        params: SamplingParams::plain(500, &[Bytes::EOS]),
        seed: 3,
        shuffle_files: false,
        control: RewardControl::AsScored,
    };
    let builder = PromptBuilder::new(Bytes, Template::Compact, 1000);
    let mut sampler = ScriptedSampler::new(Bytes, |prompt: &Prompt, _, sample| match sample {
        0 => Script::stop(right(seeds.iter().find(|s| s.id == prompt.id).expect("known"))),
        1 => Script::stop("<think>\u{1F600} \"quoted\"\n</think>"),
        _ => Script { text: "cut".to_owned(), finish: Finish::Abort },
    });
    collect(&(), &mut sampler, &builder, &refs, &settings, step, &mut ()).expect("collected").0
}

fn read(path: &Path) -> Vec<TraceRecord> {
    read_trace(path).expect("opens").collect::<Result<_, _>>().expect("reads")
}

#[test]
fn records_come_back_as_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rollouts.jsonl");
    let groups = groups(4);
    TraceWriter::create(&path).expect("creates").write(4, &groups).expect("writes");
    let records = read(&path);
    assert_eq!(records.len(), 2 * (1 + 3));
    for (number, (group, records)) in groups.iter().zip(records.chunks(4)).enumerate() {
        let TraceRecord::Prompt(prompt) = &records[0] else { panic!("the prompt comes first") };
        assert_eq!((prompt.step, prompt.prompt), (4, number as u64));
        assert_eq!((&prompt.text, &prompt.ids), (&group.prompt.text, &group.prompt.ids));
        for (sample, record) in records[1..].iter().enumerate() {
            let TraceRecord::Completion(record) = record else { panic!("then completions") };
            let completion = &group.completions[sample];
            assert_eq!(record.sample, sample as u64);
            assert_eq!(record.ids, completion.ids);
            assert_eq!(record.log_probs, completion.log_probs);
            assert_eq!(record.text, completion.text);
            assert_eq!(record.reward, group.rewards[sample]);
            assert_eq!(record.score, group.scores[sample]);
        }
    }
}

#[test]
fn a_resumed_trace_has_each_step_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rollouts.jsonl");
    let mut trace = TraceWriter::resume(&path, 0).expect("creates");
    for step in 0..3 {
        trace.write(step, &groups(step)).expect("writes");
    }
    drop(trace);
    let whole = std::fs::read(&path).expect("reads");
    // The run died while it wrote, and goes on from a checkpoint before step 2.
    std::fs::write(&path, [&whole[..], b"{\"version\":1,\"kind\":\"pro"].concat()).expect("writes");
    let mut trace = TraceWriter::resume(&path, 2).expect("resumes");
    trace.write(2, &groups(2)).expect("writes");
    assert_eq!(std::fs::read(&path).expect("reads"), whole);
    assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1);
}

#[track_caller]
fn check(text: &str, named: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.jsonl");
    std::fs::write(&path, text).expect("writes");
    let error = read_trace(&path).expect("opens").find_map(Result::err).expect("is refused");
    let message = error.to_string();
    for part in named {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(read_trace(&path).expect("opens").filter(Result::is_err).count(), 1);
    assert!(TraceWriter::resume(&path, 1).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1, "nothing left behind");
}

#[test]
fn bad_lines_are_named() {
    let good = r#"{"version":1,"kind":"prompt","step":0,"prompt":0,"id":"i","text":"","ids":[],"files":[],"skipped":[]}"#;
    check("{}\n", &["bad.jsonl, line 1"]);
    check(&format!("{good}\nnonsense\n"), &["line 2"]);
    check(&format!("{good}\n{}\n", good.replace(":1,", ":9,")), &["line 2", "version 9"]);
    check(&format!("{good}\n{}\n", good.replace("prompt\"", "riddle\"")), &["line 2"]);
    assert!(read_trace(Path::new("/nowhere/x.jsonl")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn log_probs_keep_every_bit(bits in prop::collection::vec(any::<u32>(), 1..40)) {
        let log_probs: Vec<f32> =
            bits.iter().map(|&b| f32::from_bits(b)).filter(|value| value.is_finite()).collect();
        prop_assume!(!log_probs.is_empty());
        let seeds = seeds(1);
        let completion = Completion {
            ids: vec![1; log_probs.len()],
            raw_log_probs: log_probs.clone(),
            log_probs: log_probs.clone(),
            text: String::new(),
            finish: Finish::Stop,
            weights_version: u64::MAX,
            version_spans: Vec::new(),
            timings: Timings { prefill_s: 0.1, decode_s: 1e-9 },
        };
        let prompt = PromptBuilder::new(Bytes, Template::Compact, 1000).build(&seeds[0], None);
        let groups = score(&[&seeds[0]], vec![prompt], vec![vec![completion]]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        TraceWriter::create(&path).expect("creates").write(0, &groups).expect("writes");
        let records = read(&path);
        let TraceRecord::Completion(record) = &records[1] else { panic!("a completion") };
        prop_assert_eq!(&record.log_probs, &log_probs);
        prop_assert_eq!(record.timings, groups[0].completions[0].timings);
    }
}

const SMALL: TraceLimits = TraceLimits { part_bytes: 1, parts: 0, compress: true };

/// The steps of every file of a trace, in order.
fn steps(path: &Path) -> Vec<Vec<u64>> {
    let of = |file: &std::path::PathBuf| {
        let mut steps: Vec<u64> = read(file).iter().map(TraceRecord::step).collect();
        steps.dedup();
        steps
    };
    trace_parts(path).expect("lists").iter().map(of).collect()
}

#[test]
fn a_long_trace_is_cut_between_steps_and_its_oldest_parts_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rollouts.jsonl");
    let mut trace = TraceWriter::create(&path).expect("creates").with_limits(SMALL);
    for step in 0..4 {
        trace.write(step, &groups(step)).expect("writes");
    }
    assert_eq!(steps(&path), [[0], [1], [2], [3]]);
    let parts = trace_parts(&path).expect("lists");
    assert_eq!(parts[0].file_name().expect("a name"), "rollouts.0001.jsonl.gz");
    let size = |path: &Path| std::fs::metadata(path).expect("a file").len();
    assert!(size(&parts[0]) < size(&path) / 2);
    let mut trace = TraceWriter::resume(&path, 4).expect("resumes").with_limits(TraceLimits {
        parts: 2,
        compress: false,
        ..SMALL
    });
    for step in 4..6 {
        trace.write(step, &groups(step)).expect("writes");
    }
    assert_eq!(steps(&path), [[3], [4], [5]]);
    let parts = trace_parts(&path).expect("lists");
    assert_eq!(parts[1].file_name().expect("a name"), "rollouts.0005.jsonl");
}

#[test]
fn a_run_resumed_within_a_part_has_each_step_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rollouts.jsonl");
    let large = TraceLimits { part_bytes: 15_000, ..SMALL };
    let write = |mut trace: TraceWriter, range: std::ops::Range<u64>| {
        for step in range {
            trace.write(step, &groups(step)).expect("writes");
        }
    };
    write(TraceWriter::create(&path).expect("creates").with_limits(large), 0..9);
    let whole = steps(&path);
    assert!(whole.len() > 2 && whole.iter().any(|part| part.len() > 1), "{whole:?}");
    assert_eq!(whole.concat(), (0..9).collect::<Vec<_>>());
    for step in [9, 8, 5, 4, 3, 1] {
        let trace = TraceWriter::resume(&path, step).expect("resumes").with_limits(large);
        assert_eq!(steps(&path).concat(), (0..step).collect::<Vec<_>>());
        write(trace, step..9);
        assert_eq!(steps(&path).concat(), (0..9).collect::<Vec<_>>());
    }
    // The run died when the part was there and the file that it was made of, too.
    let parts = trace_parts(&path).expect("lists");
    let text: Vec<u8> = {
        let mut text = Vec::new();
        let part = std::fs::File::open(&parts[parts.len() - 2]).expect("opens");
        let mut part = flate2::read::GzDecoder::new(part);
        std::io::Read::read_to_end(&mut part, &mut text).expect("reads");
        text
    };
    let done = *steps(&path)[parts.len() - 2].last().expect("a step") + 1;
    std::fs::write(&path, text).expect("writes");
    TraceWriter::resume(&path, done).expect("resumes");
    assert_eq!(steps(&path).concat(), (0..done).collect::<Vec<_>>());
    let left = std::fs::read_dir(folder.path()).expect("lists").flatten();
    assert!(left.map(|entry| entry.path()).all(|path| path.extension().expect("one") != "tmp"));
}
