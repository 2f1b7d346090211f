//! Which target belongs to which sample, and sums over the tokens of a sample.
//!
//! A sample's targets are neighbours, so sums go over a padded `[samples, longest]` view built by
//! `select`, whose padding is exact zeros: no scatter with colliding indices, hence the same bits on every run and device.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use crate::batch::Target;

/// The lengths of the samples, in the order of their targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    lengths: Vec<usize>,
}

impl Layout {
    /// From the number of targets of each sample.
    #[must_use]
    pub fn new(lengths: Vec<usize>) -> Self {
        Self { lengths }
    }

    /// From a batch's targets, which are ordered by sample.
    ///
    /// # Panics
    /// If they are not, or a sample number is not below `samples`.
    #[must_use]
    pub fn of_targets(targets: &[Target], samples: usize) -> Self {
        let mut lengths = vec![0; samples];
        let mut last = 0;
        for target in targets {
            assert!(target.sample >= last, "targets are ordered by sample");
            last = target.sample;
            lengths[last as usize] += 1;
        }
        Self { lengths }
    }

    /// Number of targets of each sample.
    #[must_use]
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Number of targets.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Repeats one host value per sample at each of its tokens: `[targets]`, f32.
    ///
    /// # Panics
    /// If there is not one value per sample.
    #[must_use]
    pub fn per_token(&self, values: &[f64], device: &Device) -> Tensor<1> {
        assert_eq!(values.len(), self.lengths.len(), "one value per sample");
        let repeated: Vec<f32> = values
            .iter()
            .zip(&self.lengths)
            .flat_map(|(&value, &len)| std::iter::repeat_n(value as f32, len))
            .collect();
        let len = repeated.len();
        Tensor::from_data(TensorData::new(repeated, [len]), (device, DType::F32))
    }

    /// The sum of each sample's tokens, repeated at each of them: `[targets]` to `[targets]`.
    #[must_use]
    pub fn sum_per_sample(&self, values: Tensor<1>) -> Tensor<1> {
        let device = values.device();
        let longest = self.longest();
        let padded = self.padded(values, |_, t| t).sum_dim(1);
        padded
            .expand([self.lengths.len(), longest])
            .reshape([self.lengths.len() * longest])
            .select(0, self.places(|_, t| t, &device))
    }

    /// At each token the sum of its own value and those after it in its sample: `[targets]` to
    /// `[targets]`.
    #[must_use]
    pub fn sum_from_here(&self, values: Tensor<1>) -> Tensor<1> {
        let device = values.device();
        let backwards = |len: usize, t: usize| len - 1 - t;
        self.padded(values, backwards)
            .cumsum(1)
            .reshape([self.lengths.len() * self.longest()])
            .select(0, self.places(backwards, &device))
    }

    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The padded view; `order` gives the token at each place from a sample's length and the place.
    fn padded(&self, values: Tensor<1>, order: impl Fn(usize, usize) -> usize) -> Tensor<2> {
        let device = values.device();
        let (longest, pad) = (self.longest(), self.targets());
        let mut into = Vec::with_capacity(self.lengths.len() * longest);
        let mut start = 0;
        for &len in &self.lengths {
            into.extend((0..longest).map(|t| if t < len { start + order(len, t) } else { pad }));
            start += len;
        }
        let zero = Tensor::<1>::zeros([1], (&device, DType::F32));
        Tensor::cat(vec![values, zero], 0)
            .select(0, indices(&into, &device))
            .reshape([self.lengths.len(), longest])
    }

    /// Where each target lies in the flattened padded view; `order` as in [`Layout::padded`], which
    /// must be its own inverse.
    fn places(&self, order: impl Fn(usize, usize) -> usize, device: &Device) -> Tensor<1, Int> {
        let longest = self.longest();
        let samples = self.lengths.iter().enumerate();
        let places: Vec<usize> = samples
            .flat_map(|(sample, &len)| (0..len).map(move |t| (sample, len, t)))
            .map(|(sample, len, t)| sample * longest + order(len, t))
            .collect();
        indices(&places, device)
    }
}

fn indices(values: &[usize], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
    let len = values.len();
    Tensor::from_data(TensorData::new(values, [len]), device)
}
