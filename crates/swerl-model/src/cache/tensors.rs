//! Keys and values as tensors, for backends that compute with Burn's own operations.
//!
//! Prompts are right-padded to the longest; the padding is masked. Rows lie prompt by prompt, each
//! with as many samples, and all have taken as many tokens: whole prompts come and go.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

/// Additive mask of what must not be seen. Finite, so that a fully masked row gives no NaN.
pub(crate) const MASKED: f32 = -1e30;

/// Keys and values of one layer's prompts, `[P, KV, Tp, h]`.
#[derive(Debug, Clone)]
pub(crate) struct LayerPrompt {
    pub(crate) k: Tensor<4>,
    pub(crate) v: Tensor<4>,
}

/// All layers of some prompts, with the mask of their padding, `[P, 1, 1, Tp]`.
#[derive(Debug, Clone)]
pub(crate) struct Prompts {
    pub(crate) layers: Vec<LayerPrompt>,
    pub(crate) mask: Tensor<4>,
}

impl Prompts {
    pub(super) fn fork(&self, lens: &[usize], samples: usize, max_new: usize) -> Rows {
        let rows = lens.len() * samples;
        let layer = |prompt: &LayerPrompt| {
            let [_, kv, _, hd] = prompt.k.dims();
            let empty = || Tensor::<4>::zeros([rows, kv, max_new, hd], &prompt.k.device());
            LayerCache { prompt: prompt.clone(), k: empty(), v: empty(), len: 0 }
        };
        Rows {
            layers: self.layers.iter().map(layer).collect(),
            mask: self.mask.clone(),
            lens: lens.to_vec(),
            samples,
            generated: 0,
            capacity: max_new,
        }
    }
}

/// The running state of `prompts * samples` sequences, prompt-major.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) layers: Vec<LayerCache>,
    pub(crate) mask: Tensor<4>,
    lens: Vec<usize>,
    pub(crate) samples: usize,
    pub(crate) generated: usize,
    pub(super) capacity: usize,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.lens.len() * self.samples
    }

    /// Where the next token of each row stands.
    pub(crate) fn positions(&self) -> Vec<u32> {
        let next = |len: &usize| u32::try_from(len + self.generated).expect("positions fit u32");
        self.lens.iter().flat_map(|l| std::iter::repeat_n(next(l), self.samples)).collect()
    }

    /// Drops the prompts none of whose rows is in `keep`; the rows that stay.
    pub(super) fn retain(&mut self, keep: &[bool]) -> Vec<usize> {
        let needed = |p: &usize| keep[p * self.samples..(p + 1) * self.samples].contains(&true);
        let kept: Vec<usize> = (0..self.lens.len()).filter(needed).collect();
        let rows: Vec<usize> =
            kept.iter().flat_map(|p| p * self.samples..(p + 1) * self.samples).collect();
        if kept.len() == self.lens.len() || kept.is_empty() {
            return (0..keep.len()).collect();
        }
        let device = self.mask.device();
        let (prompts, own) = (index(&kept, &device), index(&rows, &device));
        self.mask = self.mask.clone().select(0, prompts.clone());
        self.lens = kept.iter().map(|&p| self.lens[p]).collect();
        for layer in &mut self.layers {
            layer.prompt.k = layer.prompt.k.clone().select(0, prompts.clone());
            layer.prompt.v = layer.prompt.v.clone().select(0, prompts.clone());
            layer.k = layer.k.clone().select(0, own.clone());
            layer.v = layer.v.clone().select(0, own.clone());
        }
        rows
    }
}

/// One layer's shared prompts and the samples' own tokens, `[rows, KV, capacity, h]`.
#[derive(Debug, Clone)]
pub(crate) struct LayerCache {
    pub(crate) prompt: LayerPrompt,
    k: Tensor<4>,
    v: Tensor<4>,
    len: usize,
}

impl LayerCache {
    /// Appends one token per row; `k` and `v` are `[rows, KV, 1, h]`.
    pub(crate) fn push(&mut self, k: Tensor<4>, v: Tensor<4>) {
        let [rows, kv, _, hd] = k.dims();
        let at = [0..rows, 0..kv, self.len..self.len + 1, 0..hd];
        // Taken out and put back, so that the backend may write in place.
        let empty = || Tensor::<4>::zeros([1, 1, 1, 1], &k.device());
        let (old_k, old_v) =
            (std::mem::replace(&mut self.k, empty()), std::mem::replace(&mut self.v, empty()));
        self.k = old_k.slice_assign(at.clone(), k);
        self.v = old_v.slice_assign(at, v);
        self.len += 1;
    }

    /// The samples' own keys and values so far, `[rows, KV, len, h]`.
    pub(crate) fn own(&self) -> (Tensor<4>, Tensor<4>) {
        (self.k.clone().narrow(2, 0, self.len), self.v.clone().narrow(2, 0, self.len))
    }
}

/// Row numbers as an index tensor.
pub(crate) fn index(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let ids: Vec<i32> =
        rows.iter().map(|&r| i32::try_from(r).expect("row numbers fit i32")).collect();
    let len = ids.len();
    Tensor::from_data(TensorData::new(ids, [len]), (device, DType::I32))
}
