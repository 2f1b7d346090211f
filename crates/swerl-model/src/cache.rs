//! Key/value caches for decoding.
//!
//! A prompt is computed once ([`PromptCache`]) and shared by all samples drawn for it
//! ([`DecodeCache`]): its keys and values are held once per prompt, each sample holds only its own
//! tokens. Prompts are right-padded to the longest; the padding is masked.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

/// Additive mask of what must not be seen. Finite, so that a fully masked row gives no NaN.
pub(crate) const MASKED: f32 = -1e30;

/// Keys and values of one layer's prompts, `[P, KV, Tp, h]`.
#[derive(Debug, Clone)]
pub(crate) struct LayerPrompt {
    pub(crate) k: Tensor<4>,
    pub(crate) v: Tensor<4>,
}

/// Prompts after [`prefill`](crate::CausalLm::prefill), ready to be forked into samples.
#[derive(Debug, Clone)]
pub struct PromptCache {
    pub(crate) layers: Vec<LayerPrompt>,
    pub(crate) lens: Vec<usize>,
    pub(crate) mask: Tensor<4>,
}

impl PromptCache {
    /// Number of prompts.
    pub fn prompts(&self) -> usize {
        self.lens.len()
    }

    /// A decoding cache for `samples` samples of each prompt, prompt-major, with room for
    /// `max_new` tokens each.
    pub fn fork(&self, samples: usize, max_new: usize) -> DecodeCache {
        let rows = self.lens.len() * samples;
        let layer = |prompt: &LayerPrompt| {
            let [_, kv, _, hd] = prompt.k.dims();
            let empty = || Tensor::<4>::zeros([rows, kv, max_new, hd], &prompt.k.device());
            LayerCache { prompt: prompt.clone(), k: empty(), v: empty(), len: 0 }
        };
        DecodeCache {
            layers: self.layers.iter().map(layer).collect(),
            mask: self.mask.clone(),
            lens: self.lens.clone(),
            samples,
            generated: 0,
            capacity: max_new,
        }
    }
}

/// The running state of `prompts * samples` sequences, prompt-major.
#[derive(Debug, Clone)]
pub struct DecodeCache {
    pub(crate) layers: Vec<LayerCache>,
    pub(crate) mask: Tensor<4>,
    pub(crate) lens: Vec<usize>,
    pub(crate) samples: usize,
    pub(crate) generated: usize,
    pub(crate) capacity: usize,
}

impl DecodeCache {
    /// Number of sequences.
    pub fn rows(&self) -> usize {
        self.lens.len() * self.samples
    }

    /// Tokens taken so far by [`step`](crate::CausalLm::step), per sequence.
    pub fn generated(&self) -> usize {
        self.generated
    }

    /// Drops the prompts that are not in `keep`, with all their samples: the rows of the others
    /// move up, in order.
    ///
    /// # Panics
    /// If `keep` has not one entry per prompt, or keeps none.
    pub fn retain_prompts(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.lens.len(), "one entry per prompt");
        assert!(keep.contains(&true), "at least one prompt is kept");
        let kept: Vec<usize> = (0..keep.len()).filter(|&p| keep[p]).collect();
        let rows: Vec<usize> =
            kept.iter().flat_map(|p| p * self.samples..(p + 1) * self.samples).collect();
        let device = self.mask.device();
        let prompts = index(&kept, &device);
        let rows = index(&rows, &device);
        self.mask = self.mask.clone().select(0, prompts.clone());
        self.lens = kept.iter().map(|&p| self.lens[p]).collect();
        for layer in &mut self.layers {
            layer.prompt.k = layer.prompt.k.clone().select(0, prompts.clone());
            layer.prompt.v = layer.prompt.v.clone().select(0, prompts.clone());
            layer.k = layer.k.clone().select(0, rows.clone());
            layer.v = layer.v.clone().select(0, rows.clone());
        }
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
