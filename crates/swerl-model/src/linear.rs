//! Bias-free projections and their initialisation.

use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::Device;

/// Standard deviation of freshly initialised weights, as Llama's own configuration names it.
pub(crate) const INIT_STD: f64 = 0.02;

/// A projection `[.., input] -> [.., output]` without bias; its weight is `[input, output]`.
pub(crate) fn linear(input: usize, output: usize, device: &Device) -> Linear {
    LinearConfig::new(input, output)
        .with_bias(false)
        .with_initializer(Initializer::Normal { mean: 0.0, std: INIT_STD })
        .init(device)
}
