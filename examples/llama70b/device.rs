//! The device behind `--backend`, where it was compiled in.

use anyhow::{Result, bail};
use burn::tensor::Device;

use crate::arguments::BackendName;

/// The plain device (without autodiff) of a backend.
pub(crate) fn device(backend: BackendName) -> Result<Device> {
    match backend {
        #[cfg(feature = "flex")]
        BackendName::Flex => Ok(Device::flex()),
        #[cfg(feature = "cuda")]
        BackendName::Cuda => Ok(Device::cuda(0)),
        #[cfg(feature = "tch")]
        BackendName::Tch => Ok(Device::libtorch()),
        #[cfg(feature = "wgpu")]
        BackendName::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
        #[allow(unreachable_patterns)]
        other => bail!(
            "--backend {other:?} is not in this build: run with `--features {}`",
            format!("{other:?}").to_lowercase()
        ),
    }
}
