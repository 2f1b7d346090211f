//! How fast a model folder decodes and trains on this machine, and the memory that takes. One line
//! of JSON; `benches/peers/model.py` runs it beside transformers.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::tensor::Device;
use clap::{Parser, Subcommand};
use swerl_grpo::optimizer::UpdateOn;
use swerl_grpo::{
    Observer, ObserverError, OptimizerRule, PhaseTimes, Resume, Schedule, Sequence, SftConfig,
    SftMetrics, sft,
};
use swerl_model::CausalLm;

/// Decoding and training speed of a Hugging Face folder on the CPU.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Greedy decoding of `batch` prompts at once.
    Decode {
        folder: PathBuf,
        #[arg(long, default_value_t = 1)]
        batch: usize,
        /// Tokens of each prompt.
        #[arg(long, default_value_t = 128)]
        prompt: usize,
        /// Tokens decoded after each.
        #[arg(long, default_value_t = 128)]
        new: usize,
        /// Times it is done; the fastest counts.
        #[arg(long, default_value_t = 3)]
        repeats: usize,
    },
    /// Forward, backward and AdamW on `rows` sequences.
    Train {
        folder: PathBuf,
        #[arg(long, default_value_t = 4)]
        rows: usize,
        /// Tokens of each sequence.
        #[arg(long, default_value_t = 128)]
        tokens: usize,
        /// Steps; the fastest counts.
        #[arg(long, default_value_t = 4)]
        steps: u64,
    },
}

fn main() -> Result<()> {
    let report = match Arguments::parse().what {
        What::Decode { folder, batch, prompt, new, repeats } => {
            let model = CausalLm::from_folder(&folder, &Device::flex())?;
            let runs = (0..repeats.max(1)).map(|_| decode(&model, batch, prompt, new));
            let runs = runs.collect::<Result<Vec<Decoded>>>()?;
            let best = |of: &dyn Fn(&Decoded) -> f64| runs.iter().map(of).fold(f64::MAX, f64::min);
            serde_json::json!({
                "prefill_s": best(&|run| run.prefill_s),
                "decode_s": best(&|run| run.decode_s),
                "tokens_per_s": (batch * new) as f64 / best(&|run| run.prefill_s + run.decode_s),
                "peak_mb": peak_mb()?,
                "tokens": runs[0].tokens,
            })
        }
        What::Train { folder, rows, tokens, steps } => {
            let model = CausalLm::from_folder(&folder, &Device::flex().autodiff())?;
            let times = train(model, rows, tokens, steps)?;
            let best = |of: &dyn Fn(&PhaseTimes) -> f64| {
                times.iter().map(|(times, _)| of(times)).fold(f64::MAX, f64::min)
            };
            serde_json::json!({
                "step_s": best(&PhaseTimes::total),
                "gradient_s": best(&|times| times.gradient),
                "update_s": best(&|times| times.update),
                "losses": times.iter().map(|(_, loss)| *loss).collect::<Vec<_>>(),
                "peak_mb": peak_mb()?,
            })
        }
    };
    println!("{report}");
    Ok(())
}

/// Token `at` of row `row`: the same in the peer's script.
fn token(row: usize, at: usize, vocabulary: usize) -> u32 {
    ((row * 7919 + at * 104_729 + 17) % (vocabulary - 100)) as u32 + 50
}

struct Decoded {
    prefill_s: f64,
    decode_s: f64,
    /// Of the first row.
    tokens: Vec<u32>,
}

fn decode(model: &CausalLm, batch: usize, prompt: usize, new: usize) -> Result<Decoded> {
    let vocabulary = model.config().vocab_size;
    let row = |row| (0..prompt).map(|at| token(row, at, vocabulary)).collect();
    let prompts: Vec<Vec<u32>> = (0..batch).map(row).collect();
    let start = Instant::now();
    let (cache, logits) = model.prefill(&prompts);
    let mut next = greedy(logits)?;
    let prefill_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut cache = cache.fork(1, new);
    let mut tokens = vec![next[0]];
    while tokens.len() < new {
        next = greedy(model.step(&mut cache, &next))?;
        tokens.push(next[0]);
    }
    Ok(Decoded { prefill_s, decode_s: start.elapsed().as_secs_f64(), tokens })
}

/// The likeliest token of each row.
fn greedy(logits: burn::tensor::Tensor<2>) -> Result<Vec<u32>> {
    let [_, vocabulary] = logits.dims();
    let values = logits.into_data().try_into_vec::<f32>().context("logits cannot be read")?;
    let likeliest = |row: &[f32]| {
        let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(token, _)| token as u32)
    };
    Ok(values.chunks(vocabulary).map(likeliest).collect())
}

/// Keeps each step's times and loss.
#[derive(Default)]
struct Steps(Vec<(PhaseTimes, f64)>);

impl Observer for Steps {
    fn on_sft_step(&mut self, metrics: &SftMetrics) -> Result<(), ObserverError> {
        self.0.push((metrics.times, metrics.loss));
        Ok(())
    }
}

fn train(
    model: CausalLm,
    rows: usize,
    tokens: usize,
    steps: u64,
) -> Result<Vec<(PhaseTimes, f64)>> {
    let vocabulary = model.config().vocab_size;
    let sequence = |row| {
        let ids: Vec<u32> = (0..tokens).map(|at| token(row, at, vocabulary)).collect();
        Sequence::supervised(&ids[..1], &ids[1..])
    };
    let data: Vec<Sequence> = (0..rows).map(sequence).collect();
    let config = SftConfig {
        epochs: steps,
        max_steps: None,
        batch: rows,
        packed: false,
        micro_batch_tokens: rows * tokens,
        seed: 0,
        optimizer: OptimizerRule {
            max_grad_norm: None,
            update_on: UpdateOn::Host,
            ..OptimizerRule::default()
        },
        schedule: Schedule::constant(1e-5),
        checkpoint: None,
        identity: std::collections::BTreeMap::new(),
    };
    let mut seen = Steps::default();
    let trained = sft(model, &data, &mut seen, &config, &Resume::Fresh)?;
    anyhow::ensure!(trained.policy.num_params() > 0, "the policy is gone");
    Ok(seen.0)
}

/// Most memory of this process so far, in 10^6 bytes.
fn peak_mb() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status").context("no /proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kb: f64 = line.split_whitespace().nth(1).unwrap_or("0").parse()?;
    Ok(kb * 1024.0 / 1e6)
}
