//! A tiny random model for the other topics.

use burn::tensor::Device;
use swerl_grpo::batch::{Row, Target, TokenBatch};
use swerl_grpo::policy::Policy;
use swerl_model::{CausalLm, Llama3Rope, ModelConfig};

/// 2 blocks, 4 query and 2 key heads, llama3 rope active on few positions.
pub(crate) fn config(tied: bool) -> ModelConfig {
    ModelConfig {
        vocab_size: 61,
        hidden_size: 24,
        intermediate_size: 40,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 8,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        rope_scaling: Some(Llama3Rope {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 32,
        }),
        max_position_embeddings: 256,
        tie_word_embeddings: tied,
        qkv_bias: false,
        eos_token_ids: vec![0],
    }
}

/// On an autodiff device, weights ten times the usual size so that attention is not flat.
pub(crate) fn model(tied: bool) -> CausalLm {
    use burn::module::{Module, ModuleMapper, Param};
    use burn::tensor::Tensor;
    struct Louder;
    impl ModuleMapper for Louder {
        fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> {
            if D == 1 { p } else { p.map(|t| (t.inner() * 10.0).autodiff().require_grad()) }
        }
    }
    let device = Device::flex();
    device.seed(11);
    CausalLm::new(&config(tied), &device.autodiff()).map(&mut Louder)
}

/// `len` tokens that depend on `salt`.
pub(crate) fn tokens(len: usize, salt: u32) -> Vec<u32> {
    (0..len as u32).map(|i| (i * 17 + salt * 29 + i * i * 3) % 61).collect()
}

/// Scores every token of each row but the first.
pub(crate) fn batch(rows: Vec<Row>) -> TokenBatch {
    let mut targets = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        for i in 1..row.tokens.len() {
            targets.push(Target {
                row: r as u32,
                index: i as u32 - 1,
                token: row.tokens[i],
                sample: r as u32,
            });
        }
    }
    TokenBatch { samples: rows.len(), rows, targets, temperature: 1.0 }
}

/// Log-probs and entropies on the host.
pub(crate) fn scores(model: &CausalLm, batch: &TokenBatch) -> (Vec<f32>, Vec<f32>) {
    model.score(batch).unwrap().to_host().unwrap()
}

#[track_caller]
pub(crate) fn close(a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len());
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() < tolerance, "{i}: {x} {y}");
    }
}
