//! Trains the demo's base model on generated text; see `pretrain`.
//!
//! `cargo xtask pretrain-demo` runs it, twice: from noise, then `--from` the first folder on texts
//! with reasoned edits. Its output folder is a Hugging Face folder.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use burn::tensor::Device;
use clap::Parser;
use swerl_examples::pretrain::{Kind, document};
use swerl_grpo::OptimizerRule;
use swerl_grpo::batch::{Row, Target, TokenBatch};
use swerl_grpo::optimizer::{DecayOn, clip_global_norm};
use swerl_grpo::policy::{Policy, TokenScores};
use swerl_model::{CausalLm, ModelConfig, StoredDtype, Tokenizer};

/// Train the demo's base model.
#[derive(Parser)]
struct Arguments {
    /// Where to write the model folder; must not exist.
    #[arg(long)]
    out: PathBuf,
    /// Go on from this folder, on texts with reasoned edits, instead of starting from noise.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Steps of training; 12000 from noise, 6000 with --from.
    #[arg(long)]
    steps: Option<u64>,
    /// Tokens in a step.
    #[arg(long, default_value_t = 1536)]
    batch_tokens: usize,
    /// Peak learning rate; 3e-3 from noise, 2e-3 with --from.
    #[arg(long)]
    lr: Option<f64>,
    /// Seed of the weights and of the texts.
    #[arg(long, default_value_t = 20250218)]
    seed: u64,
}

/// Entries of the vocabulary.
const VOCAB: usize = 2304;
/// Texts the tokenizer is trained on.
const TOKENIZER_TEXTS: u64 = 12_000;
/// Longest text, in tokens; longer ones are left out.
const LONGEST: usize = 448;
/// Weight of tokens that are only read, against 1 for those to be written.
const READ_WEIGHT: f32 = 0.2;

/// Share of the training from noise in which most texts are small ones.
const SHORT_PHASE: f64 = 0.35;
/// Number of the first text with `--from`; those before it are the first run's.
const FIRST_REASONED: u64 = 1 << 32;
/// Steps until the learning rate is at its peak.
const WARMUP: f64 = 150.0;
/// The learning rate at the end, as a share of the peak.
const FINAL_LR: f64 = 0.03;

struct Example {
    tokens: Vec<u32>,
    given: usize,
}

fn example(tokenizer: &Tokenizer, seed: u64, n: u64, kind: Kind) -> Option<Example> {
    let d = document(seed, n, kind);
    let mut tokens = tokenizer.encode(&d.given);
    let given = if d.wanted.is_empty() { 0 } else { tokens.len() };
    tokens.extend(tokenizer.encode(&d.wanted));
    tokens.push(tokenizer.eos_ids()[0]);
    (tokens.len() <= LONGEST).then_some(Example { tokens, given })
}

fn batch(examples: &[Example]) -> (TokenBatch, Vec<f32>) {
    let (mut rows, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (r, e) in examples.iter().enumerate() {
        for i in 0..e.tokens.len() - 1 {
            targets.push(Target {
                row: r as u32,
                index: i as u32,
                token: e.tokens[i + 1],
                sample: r as u32,
            });
            weights.push(if i + 1 >= e.given && e.given > 0 { 1.0 } else { READ_WEIGHT });
        }
        rows.push(Row::plain(e.tokens.clone()));
    }
    (TokenBatch { samples: rows.len(), rows, targets, temperature: 1.0 }, weights)
}

/// Mean loss and share of exactly right greedy tokens on what is to be written.
fn held_out(
    model: &CausalLm,
    tokenizer: &Tokenizer,
    seed: u64,
    kind: Kind,
) -> anyhow::Result<(f64, f64)> {
    let examples: Vec<Example> = (0..96)
        .filter_map(|n| example(tokenizer, seed ^ 0xabcdef, n, kind))
        .filter(|e| e.given > 0)
        .collect();
    let (batch, weights) = batch(&examples);
    let (log_probs, _) = model.score(&batch)?.to_host()?;
    let (mut sum, mut count) = (0.0, 0.0);
    let mut whole = vec![0f64; examples.len()];
    for ((lp, w), t) in log_probs.iter().zip(&weights).zip(&batch.targets) {
        if *w == 1.0 {
            sum -= f64::from(*lp);
            count += 1.0;
            whole[t.sample as usize] += f64::from(*lp);
        }
    }
    let likely = whole.iter().map(|lp| lp.exp()).sum::<f64>() / whole.len() as f64;
    Ok((sum / count, likely))
}

/// A model of random weights, and a tokenizer trained on the texts.
fn from_noise(seed: u64, plain: &Device) -> anyhow::Result<(CausalLm, Tokenizer)> {
    let texts: Vec<String> = (0..TOKENIZER_TEXTS)
        .map(|n| document(seed ^ 1, n, Kind::Full))
        .map(|d| format!("{}{}", d.given, d.wanted))
        .collect();
    let specials = ["<|end|>", "<|pad|>"];
    let tokenizer = Tokenizer::train(texts.iter().map(String::as_str), VOCAB, &specials)?;
    let config = ModelConfig {
        vocab_size: tokenizer.vocab_size(),
        hidden_size: 128,
        intermediate_size: 384,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 32,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        rope_scaling: None,
        max_position_embeddings: 2048,
        tie_word_embeddings: true,
        qkv_bias: false,
        eos_token_ids: tokenizer.eos_ids().to_vec(),
    };
    plain.seed(seed);
    Ok((CausalLm::new(&config, &plain.clone().autodiff()), tokenizer))
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    ensure!(!arguments.out.exists(), "{} exists", arguments.out.display());
    let plain = Device::flex();
    let (mut model, tokenizer) = match &arguments.from {
        None => from_noise(arguments.seed, &plain)?,
        Some(folder) => (
            CausalLm::from_folder(folder, &plain.clone().autodiff())?,
            Tokenizer::from_folder(folder)?,
        ),
    };
    let again = arguments.from.is_some();
    let last_kind = if again { Kind::Reasoned } else { Kind::Full };
    let steps = arguments.steps.unwrap_or(if again { 6_000 } else { 12_000 });
    let peak = arguments.lr.unwrap_or(if again { 2e-3 } else { 3e-3 });
    let constant = if again { 0.0 } else { 0.6 };
    let lens: Vec<usize> = (0..500)
        .map(|n| example(&tokenizer, arguments.seed, n, last_kind).map_or(999, |e| e.tokens.len()))
        .collect();
    eprintln!(
        "vocabulary {}, mean text {:.0} tokens, too long {}",
        tokenizer.vocab_size(),
        lens.iter().sum::<usize>() as f64 / 500.0,
        lens.iter().filter(|&&l| l == 999).count()
    );
    let rule = OptimizerRule {
        beta2: 0.95,
        eps: 1e-8,
        weight_decay: 0.05,
        decay_on: DecayOn::All,
        ..OptimizerRule::default()
    };
    let mut optimizer = rule.build(&model);
    let mut curve =
        std::fs::File::create(arguments.out.with_extension("curve.csv")).context("curve file")?;
    writeln!(curve, "step,tokens,minutes,loss,held_out_loss,held_out_whole")?;
    let (start, mut tokens) = (Instant::now(), 0usize);
    let mut next = if again { FIRST_REASONED } else { 0 };
    for step in 0..steps {
        let done = step as f64 / steps as f64;
        let warm = (step as f64 / WARMUP).min(1.0);
        let decay = if done < constant {
            1.0
        } else {
            FINAL_LR + (1.0 - FINAL_LR) * (1.0 - (done - constant) / (1.0 - constant))
        };
        let lr = peak * warm * decay;
        let mut examples: Vec<Example> = Vec::new();
        while examples.iter().map(|e| e.tokens.len()).sum::<usize>() < arguments.batch_tokens {
            let small = next % 100 < if !again && done < SHORT_PHASE { 85 } else { 25 };
            let kind = if small { Kind::Small } else { last_kind };
            examples.extend(example(&tokenizer, arguments.seed, next, kind));
            next += 1;
        }
        let (batch, weights) = batch(&examples);
        let total: f32 = weights.iter().sum();
        tokens += batch.targets.len();
        let mut loss = 0.0;
        let upstream: Vec<f32> = weights.iter().map(|w| -w / total).collect();
        let mut gradients = model.score_backward(&batch, &mut |scores: &TokenScores| {
            let (log_probs, entropy) = scores.to_host()?;
            loss = log_probs.iter().zip(&upstream).map(|(l, u)| f64::from(l * u)).sum::<f64>();
            Ok(TokenScores::from_host(upstream.clone(), vec![0.0; entropy.len()], &plain))
        })?;
        ensure!(loss.is_finite(), "loss is {loss} at step {step}");
        let norm = clip_global_norm(&model, &mut gradients, 1.0)?;
        model = optimizer.step(lr, model, gradients);
        if step.is_multiple_of(100) {
            let (held, whole) = held_out(&model, &tokenizer, arguments.seed, last_kind)?;
            let minutes = start.elapsed().as_secs_f64() / 60.0;
            writeln!(curve, "{step},{tokens},{minutes:.2},{loss:.4},{held:.4},{whole:.4}")?;
            eprintln!(
                "step {step} tokens {tokens} min {minutes:.1} loss {loss:.4} norm {norm:.2} held-out {held:.4} whole {whole:.4} lr {lr:.2e} {:.0} tok/s",
                tokens as f64 / start.elapsed().as_secs_f64()
            );
        }
    }
    let (held, whole) = held_out(&model, &tokenizer, arguments.seed, last_kind)?;
    eprintln!("done: {steps} steps, {tokens} tokens, held-out {held:.4}, whole {whole:.4}");
    model.save_folder(&arguments.out, StoredDtype::Bf16, Some(&tokenizer.to_json()?))?;
    Ok(())
}
