//! Which tensors a folder holds, and whether they are those that a configuration asks for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Shard;
use crate::config::ModelConfig;
use crate::error::ModelError;

#[derive(serde::Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The tensors of a model as Hugging Face names and stores them: projections are
/// `[output, input]`, a tied head is not stored.
///
/// ```
/// let config = swerl_model::ModelConfig::llama_3_3_70b();
/// let tensors = swerl_model::expected_tensors(&config);
/// assert_eq!(tensors.len(), 723);
/// ```
#[must_use]
pub fn expected_tensors(config: &ModelConfig) -> Vec<(String, Vec<usize>)> {
    let (d, f) = (config.hidden_size, config.intermediate_size);
    let q = config.num_attention_heads * config.head_dim;
    let kv = config.num_key_value_heads * config.head_dim;
    let mut out = vec![("model.embed_tokens.weight".to_owned(), vec![config.vocab_size, d])];
    for layer in 0..config.num_hidden_layers {
        let mut add = |rest: &str, shape: &[usize]| {
            out.push((format!("model.layers.{layer}.{rest}"), shape.to_vec()));
        };
        add("input_layernorm.weight", &[d]);
        add("post_attention_layernorm.weight", &[d]);
        for (name, rows) in [("q_proj", q), ("k_proj", kv), ("v_proj", kv)] {
            add(&format!("self_attn.{name}.weight"), &[rows, d]);
            if config.qkv_bias {
                add(&format!("self_attn.{name}.bias"), &[rows]);
            }
        }
        add("self_attn.o_proj.weight", &[d, q]);
        add("mlp.gate_proj.weight", &[f, d]);
        add("mlp.up_proj.weight", &[f, d]);
        add("mlp.down_proj.weight", &[d, f]);
    }
    out.push(("model.norm.weight".to_owned(), vec![d]));
    if !config.tie_word_embeddings {
        out.push(("lm_head.weight".to_owned(), vec![config.vocab_size, d]));
    }
    out
}

/// Buffers that old checkpoints carry and that are recomputed here.
fn is_ignorable(name: &str) -> bool {
    name.ends_with("rotary_emb.inv_freq")
}

/// The weight files of a folder, with their headers read and none of their values.
pub struct StoredTensors {
    folder: PathBuf,
    shards: Vec<Shard>,
    place: BTreeMap<String, usize>,
}

/// What a checked folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSummary {
    /// Number of weight files.
    pub files: usize,
    /// Bytes of all weight files.
    pub bytes: u64,
    /// Number of tensors that the model reads.
    pub tensors: usize,
    /// Number of their values.
    pub parameters: u64,
    /// Names of their number formats as safetensors writes them, sorted.
    pub dtypes: Vec<String>,
}

impl StoredTensors {
    /// Reads the headers of the weight files in `folder`.
    ///
    /// # Errors
    /// A file is missing, truncated or no safetensors, the index is not valid or names a file
    /// elsewhere, or it places a tensor in a file without it.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let (paths, index) = files(folder)?;
        let shards = paths.iter().map(|path| Shard::open(path)).collect::<Result<Vec<_>, _>>()?;
        let mut place: BTreeMap<String, usize> = BTreeMap::new();
        let mut problems = Vec::new();
        for (number, shard) in shards.iter().enumerate() {
            for name in shard.names() {
                if let Some(other) = place.insert(name.to_owned(), number) {
                    problems.push(format!(
                        "tensor {name} is in {} and in {}",
                        file_name(shards[other].path()),
                        file_name(shard.path())
                    ));
                }
            }
        }
        for (name, file) in index.iter().flat_map(|index| &index.weight_map) {
            let found = place.get(name).map(|&number| file_name(shards[number].path()));
            if found.as_deref() != Some(file) {
                problems.push(format!("tensor {name} is not in {file}, where the index places it"));
            }
        }
        if problems.is_empty() {
            Ok(Self { folder: folder.to_owned(), shards, place })
        } else {
            Err(ModelError::Weights { path: folder.to_owned(), problems })
        }
    }

    /// Checks that the tensors are those that `config` asks for, with their shapes.
    ///
    /// # Errors
    /// [`ModelError::Weights`] with every missing, unexpected and misshapen tensor.
    pub fn check(&self, config: &ModelConfig) -> Result<StoredSummary, ModelError> {
        let mut left: BTreeMap<&str, usize> =
            self.place.iter().map(|(name, &number)| (name.as_str(), number)).collect();
        if config.tie_word_embeddings {
            left.remove("lm_head.weight");
        }
        let (mut problems, mut dtypes) = (Vec::new(), Vec::new());
        let expected = expected_tensors(config);
        for (name, shape) in &expected {
            let Some(number) = left.remove(name.as_str()) else {
                problems.push(format!("tensor {name} is missing"));
                continue;
            };
            let found = self.shards[number].shape(name);
            if found != shape {
                problems.push(format!("tensor {name} has shape {found:?}, expected {shape:?}"));
            }
            dtypes.push(format!("{:?}", self.shards[number].dtype(name)));
        }
        let unexpected = left.keys().filter(|name| !is_ignorable(name));
        problems.extend(unexpected.map(|name| format!("tensor {name} is unexpected")));
        if !problems.is_empty() {
            return Err(ModelError::Weights { path: self.folder.clone(), problems });
        }
        dtypes.sort();
        dtypes.dedup();
        let values = |(_, shape): &(String, Vec<usize>)| shape.iter().product::<usize>() as u64;
        Ok(StoredSummary {
            files: self.shards.len(),
            bytes: self.shards.iter().map(Shard::size).sum(),
            tensors: expected.len(),
            parameters: expected.iter().map(values).sum(),
            dtypes,
        })
    }

    /// The values of tensor `name`, converted to f32.
    ///
    /// # Panics
    /// If no file holds `name`.
    #[cfg(feature = "decoder")]
    pub(crate) fn read_f32(&mut self, name: &str) -> Result<Vec<f32>, ModelError> {
        self.shards[self.place[name]].read_f32(name)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The weight files, and the index where there is one.
fn files(folder: &Path) -> Result<(Vec<PathBuf>, Option<Index>), ModelError> {
    let path = folder.join("model.safetensors.index.json");
    let single = folder.join("model.safetensors");
    if single.exists() || !path.exists() {
        return Ok((vec![single], None));
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
    let paths = files.into_iter().map(|f| folder.join(f)).collect();
    Ok((paths, Some(index)))
}
