//! Projections and their initialisation.

use burn::module::Param;
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

/// Standard deviation of freshly initialised weights, as Llama's own configuration names it.
pub(crate) const INIT_STD: f64 = 0.02;

/// A projection `[.., input] -> [.., output]` without bias; its weight is `[input, output]`.
pub(crate) fn linear(input: usize, output: usize, device: &Device) -> Linear {
    LinearConfig::new(input, output)
        .with_bias(false)
        .with_initializer(Initializer::Normal { mean: 0.0, std: INIT_STD })
        .init(device)
}

/// [`linear`] with a bias of zeros where `bias` asks for one.
pub(crate) fn biased_linear(input: usize, output: usize, bias: bool, device: &Device) -> Linear {
    let zeros = || Param::from_tensor(Tensor::zeros([output], device));
    Linear { bias: bias.then(zeros), ..linear(input, output, device) }
}
