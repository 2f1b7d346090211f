//! SwiGLU: `down(silu(gate(x)) * up(x))`. Source: GLU variants, arXiv:2002.05202.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};

use crate::config::ModelConfig;
use crate::linear::linear;
use crate::ops::swiglu;

/// The feed-forward part of a block.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

impl Mlp {
    pub(crate) fn new(config: &ModelConfig, device: &Device) -> Self {
        let (d, f) = (config.hidden_size, config.intermediate_size);
        Self {
            gate_proj: linear(d, f, device),
            up_proj: linear(d, f, device),
            down_proj: linear(f, d, device),
        }
    }

    /// `x` is `[N, d]`, and so is the result.
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let gate = self.gate_proj.forward(x.clone());
        self.down_proj.forward(swiglu(gate, self.up_proj.forward(x)))
    }
}
