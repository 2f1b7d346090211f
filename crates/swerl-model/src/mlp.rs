//! SwiGLU: `down(silu(gate(x)) * up(x))`. Source: GLU variants, arXiv:2002.05202.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::config::ModelConfig;
use crate::linear::Projection;
use crate::ops::swiglu;

/// The feed-forward part of a block.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) gate_proj: Projection,
    pub(crate) up_proj: Projection,
    pub(crate) down_proj: Projection,
}

impl Mlp {
    pub(crate) fn new(config: &ModelConfig, device: &Device) -> Self {
        let (d, f) = (config.hidden_size, config.intermediate_size);
        Self {
            gate_proj: Projection::new(d, f, false, device),
            up_proj: Projection::new(d, f, false, device),
            down_proj: Projection::new(f, d, false, device),
        }
    }

    /// `x` is `[N, d]`, and so is the result.
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let gate = self.gate_proj.forward(x.clone());
        self.down_proj.forward(swiglu(gate, self.up_proj.forward(x)))
    }
}
