//! Hugging Face folders in and out: `model.safetensors`, or shards named by
//! `model.safetensors.index.json`, in f32, f16 or bf16.
//!
//! Loading checks coverage both ways and lists everything it found at once: missing, unexpected
//! and misshapen tensors. Shards are read tensor by tensor, never whole.

mod export;
mod names;
mod shard;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};

pub use export::StoredDtype;
pub(crate) use export::write_folder;
pub(crate) use shard::Shard;

use crate::causal_lm::CausalLm;
use crate::config::ModelConfig;
use crate::error::ModelError;
use names::Slot;

#[derive(serde::Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl CausalLm {
    /// Loads a Hugging Face folder (config.json and safetensors) as f32 parameters on `device`.
    ///
    /// # Errors
    /// A file is missing, malformed or truncated, the configuration is not supported, or the
    /// tensors are not exactly the ones the configuration asks for.
    pub fn from_folder(folder: &Path, device: &Device) -> Result<Self, ModelError> {
        let config = ModelConfig::from_folder(folder)?;
        let mut shards = Vec::new();
        for path in shard_paths(folder)? {
            shards.push(Shard::open(&path)?);
        }
        let mut place: BTreeMap<String, usize> = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            place.extend(shard.names().map(|name| (name.to_owned(), number)));
        }
        if config.tie_word_embeddings {
            place.remove("lm_head.weight");
        }
        let mut model = CausalLm::new(&config, device);
        let mut problems = Vec::new();
        for (name, slot) in names::slots(&mut model) {
            let Some(number) = place.remove(&name) else {
                problems.push(format!("tensor {name} is missing"));
                continue;
            };
            let shard = &mut shards[number];
            let (found, expected) = (shard.shape(&name).to_vec(), slot.stored_shape());
            if found != expected {
                problems.push(format!("tensor {name} has shape {found:?}, expected {expected:?}"));
            } else if problems.is_empty() {
                let values = shard.read_f32(&name)?;
                if values.iter().any(|v| !v.is_finite()) {
                    problems.push(format!("tensor {name} holds a value that is not finite"));
                } else {
                    slot.assign(values, device);
                }
            }
        }
        problems.extend(
            place
                .keys()
                .filter(|n| !names::is_ignorable(n))
                .map(|n| format!("tensor {n} is unexpected")),
        );
        if problems.is_empty() {
            Ok(model)
        } else {
            Err(ModelError::Weights { path: folder.to_owned(), problems })
        }
    }
}

impl Slot<'_> {
    /// Shape on disk: Hugging Face stores projections as `[output, input]`.
    fn stored_shape(&self) -> Vec<usize> {
        match self {
            Slot::Matrix(p) => p.val().dims().to_vec(),
            Slot::Projection(p) => p.val().dims().iter().rev().copied().collect(),
            Slot::Vector(p) => p.val().dims().to_vec(),
        }
    }

    fn assign(self, values: Vec<f32>, device: &Device) {
        match self {
            Slot::Matrix(p) => set(p, values, device),
            Slot::Vector(p) => set(p, values, device),
            Slot::Projection(p) => {
                let [input, output] = p.val().dims();
                set(p, transpose(&values, output, input), device);
            }
        }
    }
}

fn set<const D: usize>(param: &mut Param<Tensor<D>>, values: Vec<f32>, device: &Device) {
    let shape = param.val().dims();
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

fn shard_paths(folder: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let path = folder.join("model.safetensors.index.json");
    let single = folder.join("model.safetensors");
    if single.exists() || !path.exists() {
        return Ok(vec![single]);
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|source| ModelError::Read { path: path.clone(), source })?;
    let index: Index = serde_json::from_str(&text)
        .map_err(|source| ModelError::Json { path: path.clone(), source })?;
    let mut files: Vec<&String> = index.weight_map.values().collect();
    files.sort();
    files.dedup();
    if let Some(outside) = files.iter().find(|f| f.contains(['/', '\\']) || f.starts_with('.')) {
        let problems = vec![format!("shard {outside:?} is not a file name in the folder")];
        return Err(ModelError::Weights { path, problems });
    }
    Ok(files.into_iter().map(|f| folder.join(f)).collect())
}
