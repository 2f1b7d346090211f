//! `train`, `sft` and `resume` on a tiny model.

use std::{fs, path::Path, process::Stdio, thread, time::Duration};

use serde_json::json;
use swerl_model::{CausalLm, ModelConfig, StoredDtype, Tokenizer};
use tempfile::{TempDir, tempdir};

use crate::run::{Ran, command, fails, names, swerl};

const CONFIG: &str = "\
seed = 3
[model]
path = \"model\"
[data]
seeds = \"seeds.jsonl\"
held_out_share = 0.4
evaluate = 4
validation = 2
sft = 4
[prompt]
template = \"compact\"
prompt_tokens = 160
answer_tokens = 160
[sft]
rounds = 1
round = 4
batch = 2
lr = 1e-3
[grpo]
steps = 2
prompts = 2
samples = 2
lr = 1e-3
kl = 0
checkpoint_every = 1
";

/// A folder with seeds of ten repositories, a tiny model with random weights, and [`CONFIG`].
fn folder() -> TempDir {
    let dir = tempdir().expect("a folder");
    let commit = "0123456789012345678901234567890123456789";
    let seeds: String = (0..30)
        .map(|i| {
            let repo = format!("o/r{}", i % 10);
            let seed = json!({
                "version": 1, "id": format!("{repo}#{i}"), "repo": repo, "pull_request": i + 1,
                "base_commit": commit, "head_commit": commit, "merge_commit": null,
                "merged_at": null, "title": "t", "body": "",
                "issue": {"number": 1, "title": format!("x is {i}"), "body": "", "url": null,
                    "source": "linked_issue"},
                "files": [{"path": "a.py", "role": "edit", "text": format!("x = {i}\n")}],
                "oracle": {"a.py": format!("x = {}\n", i + 1)},
            });
            format!("{seed}\n")
        })
        .collect();
    let tokenizer =
        Tokenizer::train([seeds.as_str()].into_iter(), 300, &["<end>"]).expect("trained");
    let config = ModelConfig {
        vocab_size: tokenizer.vocab_size(),
        hidden_size: 16,
        intermediate_size: 24,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 8,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        rope_scaling: None,
        max_position_embeddings: 512,
        tie_word_embeddings: true,
        qkv_bias: false,
        eos_token_ids: vec![0],
    };
    let device = burn::tensor::Device::flex();
    device.seed(1);
    CausalLm::new(&config, &device)
        .save_folder(
            &dir.path().join("model"),
            StoredDtype::F32,
            Some(&tokenizer.to_json().expect("JSON")),
        )
        .expect("the model is saved");
    fs::write(dir.path().join("seeds.jsonl"), seeds).expect("written");
    fs::write(dir.path().join("tiny.toml"), CONFIG).expect("written");
    dir
}

fn bytes(dir: &Path, name: &str) -> Vec<u8> {
    fs::read(dir.join(name)).expect("the file can be read")
}

#[test]
fn a_run_leaves_its_folder_and_says_its_figures() {
    let dir = folder();
    let ran = swerl(dir.path(), &["train", "tiny.toml", "--control", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let figures: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((figures["steps"].as_u64(), figures["held_out"].as_u64()), (Some(2), Some(4)));
    assert!(figures["reward_sft_control"].is_number());
    assert!(ran.stderr.contains("warning: the rewards are equal"), "{}", ran.stderr);
    assert!(ran.stderr.contains("of the answers were cut off: raise prompt.answer_tokens"));
    let run = dir.path().join("runs/tiny");
    let found = names(&run);
    for name in
        ["config.toml", "grpo-metrics.jsonl", "model", "rollouts.jsonl", "run.json", "summary.json"]
    {
        assert!(found.iter().any(|n| n == name), "{name} of {found:?}");
    }
    // The folder is its own page, and its configuration is one to run again.
    assert_eq!(swerl(dir.path(), &["view", "runs/tiny"]).code, Some(0));
    let ran = swerl(dir.path(), &["train", "runs/tiny/config.toml", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("seed = 3\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("samples = 2\n") && ran.stdout.contains("# together"));
    let ran = swerl(dir.path(), &["train", "tiny.toml"]);
    fails(&ran, 1, &["runs/tiny exists", "--resume"]);
}

#[test]
fn a_stopped_run_goes_on_to_the_same_bytes() {
    let dir = folder();
    let whole =
        swerl(dir.path(), &["train", "tiny.toml", "--out", "whole", "--set", "grpo.steps=40"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let child =
        command(dir.path(), &["train", "tiny.toml", "--out", "cut", "--set", "grpo.steps=40"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let metrics = dir.path().join("cut/grpo-metrics.jsonl");
    for _ in 0..6_000 {
        if fs::read_to_string(&metrics).is_ok_and(|text| text.lines().count() > 2) {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("stopped; go on with: swerl resume cut"), "{}", ran.stderr);
    assert!(!dir.path().join("cut/summary.json").exists());
    let ran = swerl(dir.path(), &["resume", "cut"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for name in ["grpo-metrics.jsonl", "sft-metrics.jsonl", "model/model.safetensors"] {
        assert!(
            bytes(&dir.path().join("cut"), name) == bytes(&dir.path().join("whole"), name),
            "{name}"
        );
    }
}

#[test]
fn fine_tuning_alone_gives_a_model_to_train() {
    let dir = folder();
    let ran = swerl(dir.path(), &["sft", "tiny.toml", "--out", "warm", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let figures: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(figures["fine_tuned"]["reward"].is_number());
    let text = CONFIG.replace("\"model\"", "\"warm/model\"");
    let (before, after) = (text.find("[sft]").unwrap(), text.find("[grpo]").unwrap());
    fs::write(dir.path().join("next.toml"), format!("{}{}", &text[..before], &text[after..]))
        .unwrap();
    let lora = "model.lora={ rank = 2, alpha = 4.0, targets = [\"q_proj\"] }";
    let ran = swerl(dir.path(), &["train", "next.toml", "--out", "next", "--set", lora]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(names(&dir.path().join("next/model")).contains(&"adapter_config.json".to_owned()));
}

#[test]
fn mistakes_are_one_line_and_leave_nothing() {
    let dir = folder();
    let run = |args: &[&str]| swerl(dir.path(), &[&["train"], args].concat());
    fails(&run(&["none.toml"]), 1, &["cannot read none.toml"]);
    fails(&run(&["tiny.toml", "--set", "grpo.stepps=1"]), 1, &["unknown field `stepps`"]);
    fails(&run(&["tiny.toml", "--set", "grpo.samples=1"]), 1, &["a group needs 2"]);
    fails(&run(&["tiny.toml", "--set", "model.path=no"]), 1, &["no/"]);
    fails(&run(&["tiny.toml", "--set", "data.seeds=no.jsonl"]), 1, &["no.jsonl"]);
    fails(&run(&["tiny.toml", "--set", "model.backend=cuda"]), 1, &["--features cuda"]);
    fails(&swerl(dir.path(), &["resume", "model"]), 1, &["model has no run.json"]);
    assert_eq!(names(dir.path()), ["model", "seeds.jsonl", "tiny.toml"]);
}
