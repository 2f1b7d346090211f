//! Parity with Hugging Face on real weights: log-probs, entropies, top-10 logits and gradient norms
//! of SmolLM2-135M-Instruct against the values that transformers gave for them.
//!
//! ```text
//! examples/parity/smollm2.sh DIR        # fetches and converts the model, about a minute
//! cargo run --release --example parity -- DIR
//! ```
//!
//! Any other folder is compared with what `examples/parity/record.py` recorded of it: `--recorded FILE`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use clap::Parser;
use serde::Deserialize;
use swerl_grpo::batch::{Row, Target, TokenBatch};
use swerl_grpo::policy::Policy;
use swerl_model::{CausalLm, Tokenizer};

/// Compare a model folder with recorded values.
#[derive(Parser)]
struct Arguments {
    /// Hugging Face folder, of SmolLM2-135M-Instruct in f32 unless `--recorded` is given.
    folder: PathBuf,
    /// Recorded values [default: those of SmolLM2].
    #[arg(long, value_name = "FILE")]
    recorded: Option<PathBuf>,
    /// Largest difference of a log-prob, in nats.
    #[arg(long, default_value_t = 1e-4)]
    tolerance: f64,
}

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    prompt: String,
    prompt_ids: Vec<u32>,
    continuation_ids: Vec<u32>,
    last_prompt_top10: Vec<Top>,
    continuation_logprobs: Vec<f64>,
    continuation_entropies: Vec<f64>,
}

#[derive(Deserialize)]
struct Top {
    id: u32,
    logit: f64,
}

fn worst(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn compare(model: &CausalLm, tokenizer: &Tokenizer, case: &Case) -> Result<[f64; 3]> {
    ensure!(
        case.prompt.contains("<|") || tokenizer.encode(&case.prompt) == case.prompt_ids,
        "{}: the prompt's token ids differ",
        case.name
    );
    let tokens = [case.prompt_ids.clone(), case.continuation_ids.clone()].concat();
    let first = case.prompt_ids.len();
    let targets = (first..tokens.len())
        .map(|i| Target { row: 0, index: i as u32 - 1, token: tokens[i], sample: 0 })
        .collect();
    let batch =
        TokenBatch { rows: vec![Row::plain(tokens)], targets, temperature: 1.0, samples: 1 };
    let (log_probs, entropies) = model.score(&batch)?.to_host()?;
    ensure!(log_probs.len() == case.continuation_logprobs.len(), "{}: lengths differ", case.name);
    let (_, logits): (_, Tensor<2>) = model.prefill(std::slice::from_ref(&case.prompt_ids));
    let logits: Vec<f32> = logits.into_data().iter::<f32>().collect();
    let ours = case.last_prompt_top10.iter().map(|top| f64::from(logits[top.id as usize]));
    Ok([
        worst(log_probs.iter().map(|&x| f64::from(x)), case.continuation_logprobs.iter().copied()),
        worst(entropies.iter().map(|&x| f64::from(x)), case.continuation_entropies.iter().copied()),
        worst(ours, case.last_prompt_top10.iter().map(|top| top.logit)),
    ])
}

fn run(arguments: &Arguments) -> Result<bool> {
    let known = || Path::new(env!("CARGO_MANIFEST_DIR")).join("parity/parity_smollm2.json");
    let path = arguments.recorded.clone().unwrap_or_else(known);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let recorded: Recorded = serde_json::from_str(&text)?;
    let model = CausalLm::from_folder(&arguments.folder, &Device::flex())?.valid();
    let tokenizer = Tokenizer::from_folder(&arguments.folder)?;
    println!("{} parameters", model.config().parameters());
    let mut good = true;
    for case in &recorded.cases {
        let [log_prob, entropy, logit] = compare(&model, &tokenizer, case)?;
        good &= log_prob <= arguments.tolerance;
        println!(
            "{:<16} largest difference: log-prob {log_prob:.2e}, entropy {entropy:.2e}, top-10 logit {logit:.2e}",
            case.name
        );
    }
    Ok(good)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a log-prob differs by more than the tolerance");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
