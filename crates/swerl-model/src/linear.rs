//! Projections: a matrix, a bias where the architecture has one, and a low-rank update where one is
//! trained.

use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use crate::ops::few_rows;

/// Standard deviation of freshly initialised weights, as Llama's own configuration names it.
pub(crate) const INIT_STD: f64 = 0.02;

/// `[.., input] -> [.., output]`.
#[derive(Module, Debug)]
pub(crate) struct Projection {
    /// Its weight is `[input, output]`.
    pub(crate) linear: Linear,
    pub(crate) update: Option<LowRank>,
}

/// `scale * x a b`: LoRA's update (arXiv:2106.09685).
#[derive(Module, Debug)]
pub(crate) struct LowRank {
    /// `[input, rank]`.
    pub(crate) a: Param<Tensor<2>>,
    /// `[rank, output]`.
    pub(crate) b: Param<Tensor<2>>,
    #[module(skip)]
    pub(crate) scale: f64,
}

impl Projection {
    pub(crate) fn new(input: usize, output: usize, bias: bool, device: &Device) -> Self {
        let zeros = || Param::from_tensor(Tensor::zeros([output], device));
        let linear = Linear { bias: bias.then(zeros), ..linear(input, output, device) };
        Self { linear, update: None }
    }

    /// `x` is `[N, input]`.
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let plain = match (few_rows(&x, &self.linear.weight.val(), false), &self.linear.bias) {
            (None, _) => self.linear.forward(x.clone()),
            (Some(plain), None) => plain,
            (Some(plain), Some(bias)) => plain + bias.val().unsqueeze(),
        };
        match &self.update {
            None => plain,
            Some(update) => plain + update.forward(x),
        }
    }
}

impl LowRank {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.a.val()).matmul(self.b.val()).mul_scalar(self.scale)
    }
}

/// A projection without bias; its weight is `[input, output]`.
pub(crate) fn linear(input: usize, output: usize, device: &Device) -> Linear {
    LinearConfig::new(input, output)
        .with_bias(false)
        .with_initializer(Initializer::Normal { mean: 0.0, std: INIT_STD })
        .init(device)
}
