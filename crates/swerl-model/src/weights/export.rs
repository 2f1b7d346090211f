//! Writing a model as a Hugging Face folder: aside first, then renamed into place.

use std::path::Path;

use half::bf16;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::causal_lm::CausalLm;
use crate::error::ModelError;
use crate::weights::names::{Slot, slots};
use crate::weights::transpose;

/// How weights are stored on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredDtype {
    /// Four bytes a value, exact.
    F32,
    /// Two bytes a value, rounded to nearest even.
    Bf16,
}

impl CausalLm {
    /// Writes `config.json`, `model.safetensors` and, when given, `tokenizer.json` to `folder`.
    /// Updates of LoRA are added to the weights. The files are made in `folder` + `.tmp`, synced and
    /// renamed; an existing `folder` is an error, so that nothing is lost.
    ///
    /// # Errors
    /// A file cannot be written, or `folder` exists.
    pub fn save_folder(
        &self,
        folder: &Path,
        dtype: StoredDtype,
        tokenizer_json: Option<&str>,
    ) -> Result<(), ModelError> {
        let config_name = match dtype {
            StoredDtype::F32 => "float32",
            StoredDtype::Bf16 => "bfloat16",
        };
        let config = self.config().to_json(config_name);
        let weights = self.merged().safetensors(dtype);
        let mut files = vec![("config.json", config.as_bytes())];
        files.extend(tokenizer_json.map(|text| ("tokenizer.json", text.as_bytes())));
        files.push(("model.safetensors", &weights));
        write_folder(folder, &files)
    }

    /// The weights as one safetensors file.
    fn safetensors(&self, dtype: StoredDtype) -> Vec<u8> {
        let mut model = self.clone();
        let stored: Vec<(String, Vec<usize>, Vec<u8>)> = slots(&mut model)
            .into_iter()
            .map(|(name, slot)| {
                let (shape, values) = slot.stored();
                (name, shape, encode(&values, dtype))
            })
            .collect();
        let kind = match dtype {
            StoredDtype::F32 => Dtype::F32,
            StoredDtype::Bf16 => Dtype::BF16,
        };
        let views = stored.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(kind, shape.clone(), bytes).expect("bytes fit the shape");
            (name.as_str(), view)
        });
        let format = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
        safetensors::serialize(views, Some(format)).expect("names are unique and shapes fit")
    }
}

impl Slot<'_> {
    /// Shape and values as they lie on disk.
    fn stored(self) -> (Vec<usize>, Vec<f32>) {
        let floats = |data: burn::tensor::TensorData| data.iter::<f32>().collect::<Vec<f32>>();
        match self {
            Slot::Matrix(p) => (p.val().dims().to_vec(), floats(p.val().into_data())),
            Slot::Vector(p) => (p.val().dims().to_vec(), floats(p.val().into_data())),
            Slot::Projection(p) => {
                let [input, output] = p.val().dims();
                (vec![output, input], transpose(&floats(p.val().into_data()), input, output))
            }
        }
    }
}

fn encode(values: &[f32], dtype: StoredDtype) -> Vec<u8> {
    match dtype {
        StoredDtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        StoredDtype::Bf16 => values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect(),
    }
}

/// Writes `files` to a new `folder`: in `folder` + `.tmp`, synced, then renamed.
pub(crate) fn write_folder(folder: &Path, files: &[(&str, &[u8])]) -> Result<(), ModelError> {
    let fail = |path: &Path, source| ModelError::Write { path: path.to_owned(), source };
    if folder.exists() {
        let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(fail(folder, source));
    }
    let mut name = folder.as_os_str().to_owned();
    name.push(".tmp");
    let aside = std::path::PathBuf::from(name);
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::create_dir_all(&aside).map_err(|e| fail(&aside, e))?;
    for (name, bytes) in files {
        write(&aside.join(name), bytes)?;
    }
    std::fs::rename(&aside, folder).map_err(|e| fail(folder, e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    use std::io::Write;
    let fail = |source| ModelError::Write { path: path.to_owned(), source };
    let mut file = std::fs::File::create(path).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_all().map_err(fail)
}
