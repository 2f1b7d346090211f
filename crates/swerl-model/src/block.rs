//! One decoder block: `x + attention(norm(x))`, then `x + mlp(norm(x))`, pre-norm RMSNorm.

use burn::module::Module;
use burn::nn::{RmsNorm, RmsNormConfig};
use burn::tensor::{Device, Tensor};

use crate::attention::{Attention, View};
use crate::config::ModelConfig;
use crate::mlp::Mlp;
use crate::ops::rms_norm;

/// A pre-norm Llama decoder block.
#[derive(Module, Debug)]
pub(crate) struct Block {
    pub(crate) input_layernorm: RmsNorm,
    pub(crate) self_attn: Attention,
    pub(crate) post_attention_layernorm: RmsNorm,
    pub(crate) mlp: Mlp,
}

impl Block {
    pub(crate) fn new(config: &ModelConfig, device: &Device) -> Self {
        let norm = || {
            RmsNormConfig::new(config.hidden_size).with_epsilon(config.rms_norm_eps).init(device)
        };
        Self {
            input_layernorm: norm(),
            self_attn: Attention::new(config, device),
            post_attention_layernorm: norm(),
            mlp: Mlp::new(config, device),
        }
    }

    /// `x` is `[N, d]`; how its tokens lie in rows and what they see is in `view`.
    pub(crate) fn forward(&self, x: Tensor<2>, view: &mut View<'_>) -> Tensor<2> {
        let h = rms_norm(&self.input_layernorm, x.clone());
        let x = x + self.self_attn.forward(h, view);
        let h = rms_norm(&self.post_attention_layernorm, x.clone());
        x + self.mlp.forward(h)
    }
}
