//! Writing a model as a Hugging Face folder: aside first, then renamed into place. Tensors are
//! encoded one at a time, so a folder needs the memory of its largest tensor.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use burn::tensor::TensorData;
use half::bf16;
use safetensors::{Dtype, SafeTensorError, View};

use super::load::transpose;
use super::names::{Slot, slots};
use crate::causal_lm::CausalLm;
use crate::error::ModelError;

/// Most bytes of weights in one file, as Hugging Face's own writer cuts.
const SHARD_BYTES: usize = 5_000_000_000;

/// How weights are stored on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredDtype {
    /// Four bytes a value, exact.
    F32,
    /// Two bytes a value, rounded to nearest even.
    Bf16,
}

impl CausalLm {
    /// Writes `config.json`, `model.safetensors` (over 5 GB: shards with an index) and, when given,
    /// `tokenizer.json` to `folder`. Updates of LoRA are added to the weights. The files are made in
    /// `folder` + `.tmp`, synced and renamed; an existing `folder` is an error, so that nothing is
    /// lost.
    ///
    /// # Errors
    /// A file cannot be written, or `folder` exists.
    pub fn save_folder(
        &self,
        folder: &Path,
        dtype: StoredDtype,
        tokenizer_json: Option<&str>,
    ) -> Result<(), ModelError> {
        self.save_in_shards(folder, dtype, tokenizer_json, SHARD_BYTES)
    }

    fn save_in_shards(
        &self,
        folder: &Path,
        dtype: StoredDtype,
        tokenizer_json: Option<&str>,
        most: usize,
    ) -> Result<(), ModelError> {
        let config_name = match dtype {
            StoredDtype::F32 => "float32",
            StoredDtype::Bf16 => "bfloat16",
        };
        let config = self.config().to_json(config_name);
        let mut model = self.merged();
        let tensors = slots(&mut model).into_iter().map(|(name, slot)| (name, stored(slot, dtype)));
        let shards = shards(tensors.collect(), most);
        write_folder_with(folder, |aside| {
            write(&aside.join("config.json"), config.as_bytes())?;
            if let Some(text) = tokenizer_json {
                write(&aside.join("tokenizer.json"), text.as_bytes())?;
            }
            let count = shards.len();
            let name = |shard: usize| match count {
                1 => "model.safetensors".to_owned(),
                _ => format!("model-{:05}-of-{count:05}.safetensors", shard + 1),
            };
            if count > 1 {
                let index = index(&shards, &name);
                write(&aside.join("model.safetensors.index.json"), index.as_bytes())?;
            }
            for (number, shard) in shards.into_iter().enumerate() {
                write_shard(&aside.join(name(number)), shard)?;
            }
            Ok(())
        })
    }
}

/// A parameter, encoded when it is written.
struct Stored<'a> {
    slot: Slot<'a>,
    shape: Vec<usize>,
    dtype: StoredDtype,
}

fn stored(slot: Slot<'_>, dtype: StoredDtype) -> Stored<'_> {
    let shape = match &slot {
        Slot::Matrix(p) => p.val().dims().to_vec(),
        Slot::Projection(p) => p.val().dims().iter().rev().copied().collect(),
        Slot::Vector(p) => p.val().dims().to_vec(),
    };
    Stored { slot, shape, dtype }
}

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        match self.dtype {
            StoredDtype::F32 => Dtype::F32,
            StoredDtype::Bf16 => Dtype::BF16,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let floats = |data: TensorData| data.iter::<f32>().collect::<Vec<f32>>();
        let values = match &self.slot {
            Slot::Matrix(p) => floats(p.val().into_data()),
            Slot::Vector(p) => floats(p.val().into_data()),
            Slot::Projection(p) => {
                let [input, output] = p.val().dims();
                transpose(&floats(p.val().into_data()), input, output)
            }
        };
        encode(&values, self.dtype).into()
    }

    fn data_len(&self) -> usize {
        let size = match self.dtype {
            StoredDtype::F32 => 4,
            StoredDtype::Bf16 => 2,
        };
        size * self.shape.iter().product::<usize>()
    }
}

type Named<'a> = (String, Stored<'a>);

/// `tensors` in order, cut into files of at most `most` bytes; a larger tensor has its own.
fn shards(tensors: Vec<Named<'_>>, most: usize) -> Vec<Vec<Named<'_>>> {
    let mut shards: Vec<Vec<Named<'_>>> = vec![Vec::new()];
    let mut bytes = 0;
    for (name, tensor) in tensors {
        let size = tensor.data_len();
        if bytes + size > most && bytes > 0 {
            shards.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        shards.last_mut().expect("there is a first").push((name, tensor));
    }
    shards
}

fn index(shards: &[Vec<Named<'_>>], name: &dyn Fn(usize) -> String) -> String {
    let all = shards.iter().enumerate().flat_map(|(number, shard)| {
        shard.iter().map(move |(tensor, stored)| (number, tensor, stored))
    });
    let mut total = 0;
    let mut map = serde_json::Map::new();
    for (number, tensor, stored) in all {
        total += stored.data_len();
        map.insert(tensor.clone(), name(number).into());
    }
    let index = serde_json::json!({"metadata": {"total_size": total}, "weight_map": map});
    serde_json::to_string_pretty(&index).expect("plain fields") + "\n"
}

fn write_shard(path: &Path, tensors: Vec<Named<'_>>) -> Result<(), ModelError> {
    let fail = |source| ModelError::Write { path: path.to_owned(), source };
    let format = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
    safetensors::serialize_to_file(tensors, Some(format), path).map_err(|error| match error {
        SafeTensorError::IoError(source) => fail(source),
        other => fail(std::io::Error::other(other)),
    })?;
    std::fs::File::open(path).and_then(|file| file.sync_all()).map_err(fail)
}

fn encode(values: &[f32], dtype: StoredDtype) -> Vec<u8> {
    match dtype {
        StoredDtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        StoredDtype::Bf16 => values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect(),
    }
}

/// Writes `files` to a new `folder`: in `folder` + `.tmp`, synced, then renamed.
pub(crate) fn write_folder(folder: &Path, files: &[(&str, &[u8])]) -> Result<(), ModelError> {
    write_folder_with(folder, |aside| {
        files.iter().try_for_each(|(name, bytes)| write(&aside.join(name), bytes))
    })
}

/// A new `folder` whose files `fill` writes to a folder aside.
fn write_folder_with(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), ModelError>,
) -> Result<(), ModelError> {
    let fail = |path: &Path, source| ModelError::Write { path: path.to_owned(), source };
    if folder.exists() {
        let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(fail(folder, source));
    }
    let mut name = folder.as_os_str().to_owned();
    name.push(".tmp");
    let aside = PathBuf::from(name);
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::create_dir_all(&aside).map_err(|e| fail(&aside, e))?;
    fill(&aside)?;
    std::fs::rename(&aside, folder).map_err(|e| fail(folder, e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    use std::io::Write;
    let fail = |source| ModelError::Write { path: path.to_owned(), source };
    let mut file = std::fs::File::create(path).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_all().map_err(fail)
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::weights::StoredTensors;
    use burn::tensor::Device;

    #[test]
    fn shards_with_an_index_hold_what_one_file_holds() {
        let config = ModelConfig::small();
        let device = Device::flex();
        let model = CausalLm::new(&config, &device);
        let dir = tempfile::tempdir().unwrap();
        let (one, many) = (dir.path().join("one"), dir.path().join("many"));
        model.save_in_shards(&one, StoredDtype::F32, None, SHARD_BYTES).unwrap();
        model.save_in_shards(&many, StoredDtype::F32, None, 10_000).unwrap();
        let whole = StoredTensors::open(&one).unwrap().check(&config).unwrap();
        let cut = StoredTensors::open(&many).unwrap().check(&config).unwrap();
        assert_eq!((whole.files, whole.tensors), (1, cut.tensors));
        assert!(cut.files > 2, "{cut:?}");
        assert!(many.join(format!("model-00001-of-{:05}.safetensors", cut.files)).exists());
        let index = std::fs::read_to_string(many.join("model.safetensors.index.json")).unwrap();
        let index: serde_json::Value = serde_json::from_str(&index).unwrap();
        assert_eq!(index["metadata"]["total_size"], 4 * config.parameters());
        let load = |folder: &Path| {
            let mut model = CausalLm::from_folder(folder, &device).unwrap();
            let all = slots(&mut model).into_iter();
            all.map(|(name, slot)| (name, stored(slot, StoredDtype::F32).data().into_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(load(&one), load(&many));
    }
}
