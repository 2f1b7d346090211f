//! Weights into a decoder, tensor by tensor, never a whole file at once.

use std::path::Path;

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};

use super::names::{self, Slot};
use crate::causal_lm::CausalLm;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::weights::StoredTensors;

impl CausalLm {
    /// Loads a Hugging Face folder (config.json and safetensors) as f32 parameters on `device`.
    ///
    /// # Errors
    /// A file is missing, malformed or truncated, the configuration is not supported, or the
    /// tensors are not exactly the ones the configuration asks for.
    pub fn from_folder(folder: &Path, device: &Device) -> Result<Self, ModelError> {
        let config = ModelConfig::from_folder(folder)?;
        let mut stored = StoredTensors::open(folder)?;
        stored.check(&config)?;
        let mut model = CausalLm::new(&config, device);
        let mut problems = Vec::new();
        for (name, slot) in names::slots(&mut model) {
            let values = stored.read_f32(&name)?;
            if values.iter().all(|v| v.is_finite()) {
                slot.assign(values, device);
            } else {
                problems.push(format!("tensor {name} holds a value that is not finite"));
            }
        }
        if problems.is_empty() {
            Ok(model)
        } else {
            Err(ModelError::Weights { path: folder.to_owned(), problems })
        }
    }
}

impl Slot<'_> {
    fn assign(self, values: Vec<f32>, device: &Device) {
        match self {
            Slot::Matrix(p) => set(p, values, device),
            Slot::Vector(p) => set(p, values, device),
            Slot::Projection(p) => {
                let [input, output] = p.lazy_shape().dims();
                set(p, transpose(&values, output, input), device);
            }
        }
    }
}

fn set<const D: usize>(param: &mut Param<Tensor<D>>, values: Vec<f32>, device: &Device) {
    // The random values that a new model would have are never drawn.
    let shape = param.lazy_shape();
    let tensor = Tensor::<D>::from_data(TensorData::new(values, shape), (device, DType::F32));
    *param = Param::from_tensor(tensor);
}

/// `[rows, columns]` to `[columns, rows]`.
pub(crate) fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(values.len());
    for c in 0..columns {
        out.extend((0..rows).map(|r| values[r * columns + c]));
    }
    out
}
