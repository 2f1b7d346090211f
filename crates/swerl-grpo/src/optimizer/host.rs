//! AdamW in one pass over memory, for tensors that live in the host's.
//!
//! The arithmetic is that of Burn's own AdamW, operation by operation in f32, and so are the bits;
//! composed of tensor operations it takes some fifteen passes and as many temporaries.

use burn::optim::{AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{DType, Device, Tensor, TensorData};
use rayon::prelude::*;

/// Numbers that a task takes at once.
const CHUNK: usize = 1 << 14;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostAdamW {
    pub(super) beta1: f32,
    pub(super) beta2: f32,
    pub(super) eps: f32,
    pub(super) weight_decay: f32,
}

impl Optimizer for HostAdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (shape, device) = (tensor.shape(), tensor.device());
        let gradient = host(grad);
        let (time, mut first, mut second) = match state.map(|state| state.momentum) {
            Some(m) => (m.time + 1, host(m.moment_1), host(m.moment_2)),
            None => (1, Vec::new(), Vec::new()),
        };
        let fresh = first.is_empty();
        if fresh {
            first = vec![0.0; gradient.len()];
            second = vec![0.0; gradient.len()];
        }
        let mut weights = host(tensor);
        let step = Step { rule: *self, rate, time: time as i32, fresh };
        weights
            .par_chunks_mut(CHUNK)
            .zip(first.par_chunks_mut(CHUNK))
            .zip(second.par_chunks_mut(CHUNK))
            .zip(gradient.par_chunks(CHUNK))
            .for_each(|(((w, m), v), g)| step.run(w, m, v, g));
        let tensor = |values: Vec<f32>| {
            let data = TensorData::new(values, shape.clone());
            Tensor::<D>::from_data(data, (&device, DType::F32))
        };
        let momentum = AdaptiveMomentumState::new(time, tensor(first), tensor(second));
        (tensor(weights), Some(AdamWState::new(momentum)))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState::new(state.momentum.to_device(device))
    }
}

/// # Panics
/// When the device fails, as Burn's own operations do.
fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec_as::<f32>().expect("an f32 tensor is read as f32")
}

/// What is the same for all numbers of a step.
struct Step {
    rule: HostAdamW,
    rate: f64,
    time: i32,
    /// Whether there are no moments yet.
    fresh: bool,
}

impl Step {
    fn run(&self, weights: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32]) {
        let HostAdamW { beta1, beta2, eps, weight_decay } = self.rule;
        let (gain1, gain2) = (1.0 - beta1, 1.0 - beta2);
        let (correction1, correction2) = (1.0 - beta1.powi(self.time), 1.0 - beta2.powi(self.time));
        let decay = self.rate * f64::from(weight_decay);
        let (kept, rate) = ((1.0 - decay) as f32, self.rate as f32);
        let moments = first.iter_mut().zip(second);
        for ((w, (m, v)), g) in weights.iter_mut().zip(moments).zip(gradient) {
            let (new1, new2) = (g * gain1, (g * g) * gain2);
            // Not `0 + new`, which loses the sign of a zero.
            (*m, *v) =
                if self.fresh { (new1, new2) } else { (*m * beta1 + new1, *v * beta2 + new2) };
            let delta = (*m / correction1) / ((*v / correction2).sqrt() + eps);
            *w = *w * kept - delta * rate;
        }
    }
}
