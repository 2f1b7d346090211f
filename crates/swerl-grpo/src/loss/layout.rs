//! Which target belongs to which sample, and sums over the tokens of a sample.
//!
//! A sample's targets are neighbours, so sums go over a padded `[samples, longest]` view built by
//! `select`: no scatter with colliding indices, hence the same bits on every run and device.

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
        let samples = self.lengths.len();
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let pad = self.targets();
        let mut into = Vec::with_capacity(samples * longest);
        let mut back = Vec::with_capacity(pad);
        let mut start = 0;
        for (sample, &len) in self.lengths.iter().enumerate() {
            into.extend((0..longest).map(|t| if t < len { start + t } else { pad } as i32));
            back.extend((0..len).map(|t| (sample * longest + t) as i32));
            start += len;
        }
        let indices = |values: Vec<i32>| {
            let len = values.len();
            Tensor::<1, Int>::from_data(TensorData::new(values, [len]), &device)
        };
        let zero = Tensor::<1>::zeros([1], (&device, DType::F32));
        Tensor::cat(vec![values, zero], 0)
            .select(0, indices(into))
            .reshape([samples, longest])
            .sum_dim(1)
            .expand([samples, longest])
            .reshape([samples * longest])
            .select(0, indices(back))
    }
}
