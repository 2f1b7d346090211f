//! One safetensors file, read tensor by tensor.

use std::fs::File;
use std::io::Read;
#[cfg(feature = "decoder")]
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata};

use crate::error::ModelError;

/// Longest header accepted, in bytes. The format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// An open file with its parsed header.
pub(crate) struct Shard {
    path: PathBuf,
    #[cfg(feature = "decoder")]
    file: File,
    metadata: Metadata,
    names: Vec<String>,
    data_start: u64,
}

impl Shard {
    pub(crate) fn open(path: &Path) -> Result<Self, ModelError> {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let broken =
            |reason: String| ModelError::Weights { path: path.to_owned(), problems: vec![reason] };
        let mut file = File::open(path).map_err(read)?;
        let size = file.metadata().map_err(read)?.len();
        let mut prefix = [0u8; 8];
        file.read_exact(&mut prefix).map_err(read)?;
        let header = u64::from_le_bytes(prefix);
        if header > MAX_HEADER || header + 8 > size {
            return Err(broken(format!("the header claims {header} bytes of a file of {size}")));
        }
        let mut buffer = vec![0u8; usize::try_from(header).expect("below the limit")];
        file.read_exact(&mut buffer).map_err(read)?;
        let metadata: Metadata =
            serde_json::from_slice(&buffer).map_err(|e| broken(format!("not safetensors: {e}")))?;
        let data_start = 8 + header;
        let needed = data_start + metadata.data_len() as u64;
        if needed != size {
            return Err(broken(format!(
                "the file has {size} bytes, its header describes {needed}: truncated or damaged"
            )));
        }
        let mut names: Vec<String> = metadata.tensors().keys().cloned().collect();
        names.sort();
        Ok(Self {
            path: path.to_owned(),
            #[cfg(feature = "decoder")]
            file,
            metadata,
            names,
            data_start,
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// # Panics
    /// If the shard does not hold `name`.
    pub(crate) fn shape(&self, name: &str) -> &[usize] {
        &self.metadata.info(name).expect("a name of this shard").shape
    }

    /// # Panics
    /// If the shard does not hold `name`.
    pub(crate) fn dtype(&self, name: &str) -> Dtype {
        self.metadata.info(name).expect("a name of this shard").dtype
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the whole file.
    pub(crate) fn size(&self) -> u64 {
        self.data_start + self.metadata.data_len() as u64
    }

    /// The values of tensor `name`, converted to f32.
    ///
    /// # Panics
    /// If the shard does not hold `name`.
    #[cfg(feature = "decoder")]
    pub(crate) fn read_f32(&mut self, name: &str) -> Result<Vec<f32>, ModelError> {
        use half::{bf16, f16};
        let info = self.metadata.info(name).expect("a name of this shard");
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0u8; end - start];
        let read = |source| ModelError::Read { path: self.path.clone(), source };
        self.file.seek(SeekFrom::Start(self.data_start + start as u64)).map_err(read)?;
        self.file.read_exact(&mut bytes).map_err(read)?;
        let pair = |b: &[u8]| [b[0], b[1]];
        match info.dtype {
            Dtype::F32 => Ok(bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect()),
            Dtype::BF16 => {
                Ok(bytes.chunks_exact(2).map(|b| bf16::from_le_bytes(pair(b)).to_f32()).collect())
            }
            Dtype::F16 => {
                Ok(bytes.chunks_exact(2).map(|b| f16::from_le_bytes(pair(b)).to_f32()).collect())
            }
            other => Err(ModelError::Weights {
                path: self.path.clone(),
                problems: vec![format!("tensor {name} is {other:?}; F32, F16 and BF16 are read")],
            }),
        }
    }
}
