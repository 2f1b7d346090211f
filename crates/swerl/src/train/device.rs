//! The device behind the name of a backend, where it was compiled in.

use anyhow::{Result, bail};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

/// A Burn backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// CPU, pure Rust: feature `flex`.
    #[default]
    Flex,
    /// NVIDIA GPUs: feature `cuda`.
    Cuda,
    /// LibTorch 2.9: feature `tch`.
    Tch,
    /// Vulkan, Metal, DirectX 12: feature `wgpu`.
    Wgpu,
}

impl Backend {
    /// Its first device, without autodiff.
    ///
    /// # Errors
    /// When this build does not have it.
    pub fn device(self) -> Result<Device> {
        match self {
            #[cfg(feature = "flex")]
            Self::Flex => Ok(Device::flex()),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(Device::cuda(0)),
            #[cfg(feature = "tch")]
            Self::Tch => Ok(Device::libtorch()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[allow(unreachable_patterns)]
            other => {
                let name = format!("{other:?}").to_lowercase();
                bail!("the backend {name} is not in this build: build with `--features {name}`")
            }
        }
    }
}
