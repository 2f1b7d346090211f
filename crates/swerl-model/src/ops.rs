//! The operations of a block that a backend may fuse: each picks the fused kernel where the device
//! has one, and Burn's own operations elsewhere.

use burn::nn::RmsNorm;
use burn::tensor::{Tensor, activation};

#[cfg(feature = "flex")]
use crate::fused;

/// RMSNorm over the last axis of `[N, d]`.
pub(crate) fn rms_norm(norm: &RmsNorm, x: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "flex")]
    if fused::is_fused(&x.device()) {
        return fused::rms_norm(x, norm.gamma.val(), norm.epsilon as f32);
    }
    norm.forward(x)
}

/// `silu(gate) * up`, elementwise.
pub(crate) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "flex")]
    if fused::is_fused(&gate.device()) {
        return fused::swiglu(gate, up);
    }
    activation::silu(gate) * up
}

/// `x weight`, or `x weight^T` where `turned`, `x` `[N, k]`, where a kernel for few rows has it:
/// outside autodiff, on the CPU.
pub(crate) fn few_rows(x: &Tensor<2>, weight: &Tensor<2>, turned: bool) -> Option<Tensor<2>> {
    #[cfg(feature = "flex")]
    {
        let device = x.device();
        let few = fused::few_rows::COUNTS.contains(&x.dims()[0]);
        if few && !device.is_autodiff() && fused::is_fused(&device) {
            return Some(fused::few_rows(x.clone(), weight.clone(), turned));
        }
    }
    let _ = (x, weight, turned);
    None
}
