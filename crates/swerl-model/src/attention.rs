//! Grouped-query attention. Keys and values are never expanded to the number of query heads: the
//! query heads that share a key head are folded into the query axis instead.
//!
//! What a query sees:
//! * [`View::Masked`]: other tokens of the same rows, by an additive mask (training, scoring);
//! * [`View::Fused`]: the same, by a kernel that visits only what is seen (CPU);
//! * [`View::Prefill`] and [`View::FusedPrefill`]: the same, causal, and keys and values are kept
//!   for decoding;
//! * [`View::Decode`] and [`View::FusedDecode`]: the cached prompt (shared by all samples of a
//!   prompt) and the sample's own cached tokens, one query each.

#[cfg(feature = "flex")]
use std::sync::Arc;

use burn::module::Module;
#[cfg(feature = "flex")]
use burn::tensor::{DType, TensorData};
use burn::tensor::{Device, Tensor, activation};

use crate::cache::tensors::{LayerCache, LayerPrompt};
use crate::config::ModelConfig;
#[cfg(feature = "flex")]
use crate::fused::angles::Angles;
#[cfg(feature = "flex")]
use crate::fused::decode::{self, Heads, Seen, Tokens};
#[cfg(feature = "flex")]
use crate::fused::plan::Plan;
use crate::linear::Projection;
use crate::rotary::Rotary;

/// Query, key, value and output projections with their head counts.
#[derive(Module, Debug)]
pub(crate) struct Attention {
    pub(crate) q_proj: Projection,
    pub(crate) k_proj: Projection,
    pub(crate) v_proj: Projection,
    pub(crate) o_proj: Projection,
    #[module(skip)]
    head_dim: usize,
}

/// What the queries see. Tokens are flat, `[N, d]`; a view says how they lie in rows.
pub(crate) enum View<'a> {
    /// `N = B * T`; `mask` is additive, `[B or 1, 1, T, T]`.
    Masked { batch: usize, rotary: &'a Rotary, mask: &'a Tensor<4> },
    /// Rows of any length laid end to end, by the fused kernel.
    #[cfg(feature = "flex")]
    Fused(Arc<Plan>),
    /// As `Masked`; the rotated keys and the values are pushed to `kept`.
    Prefill {
        batch: usize,
        rotary: &'a Rotary,
        mask: &'a Tensor<4>,
        kept: &'a mut Vec<LayerPrompt>,
    },
    /// As `Fused`, for prompts of `lens` tokens; keys and values are pushed to `kept`.
    #[cfg(feature = "flex")]
    FusedPrefill {
        plan: Arc<Plan>,
        heads: Heads,
        lens: &'a [usize],
        kept: &'a mut Vec<Vec<Arc<Tokens>>>,
    },
    /// One token per row; `mask` is additive over prompt tokens, `[P, 1, 1, Tp]`.
    Decode { rotary: &'a Rotary, mask: &'a Tensor<4>, cache: &'a mut LayerCache, samples: usize },
    /// One token per row, by the CPU's kernel.
    #[cfg(feature = "flex")]
    FusedDecode { angles: &'a Angles, heads: Heads, rows: &'a mut [Seen] },
}

impl Attention {
    pub(crate) fn new(config: &ModelConfig, device: &Device) -> Self {
        let d = config.hidden_size;
        let q = config.num_attention_heads * config.head_dim;
        let kv = config.num_key_value_heads * config.head_dim;
        Self {
            q_proj: Projection::new(d, q, config.qkv_bias, device),
            k_proj: Projection::new(d, kv, config.qkv_bias, device),
            v_proj: Projection::new(d, kv, config.qkv_bias, device),
            o_proj: Projection::new(q, d, false, device),
            head_dim: config.head_dim,
        }
    }

    /// `x` is `[N, d]`, and so is the result.
    pub(crate) fn forward(&self, x: Tensor<2>, view: &mut View<'_>) -> Tensor<2> {
        let q = self.q_proj.forward(x.clone());
        let k = self.k_proj.forward(x.clone());
        let v = self.v_proj.forward(x);
        self.o_proj.forward(self.see(q, k, v, view))
    }

    /// `q` is `[N, H h]`, `k` and `v` are `[N, KV h]`, none rotated; the result is `[N, H h]`.
    fn see(&self, q: Tensor<2>, k: Tensor<2>, v: Tensor<2>, view: &mut View<'_>) -> Tensor<2> {
        match view {
            #[cfg(feature = "flex")]
            View::Fused(plan) => crate::fused::rotary_attention(q, k, v, plan.clone()),
            View::Masked { batch, rotary, mask } => {
                let q = self.rotated_queries(q, *batch, rotary);
                let k = rotary.apply(self.by_head(k, *batch)).swap_dims(1, 2);
                let v = self.by_head(v, *batch).swap_dims(1, 2);
                self.flat(attend(q, k, v, mask))
            }
            View::Prefill { batch, rotary, mask, kept } => {
                let q = self.rotated_queries(q, *batch, rotary);
                let k = rotary.apply(self.by_head(k, *batch)).swap_dims(1, 2);
                let v = self.by_head(v, *batch).swap_dims(1, 2);
                kept.push(LayerPrompt { k: k.clone(), v: v.clone() });
                self.flat(attend(q, k, v, mask))
            }
            #[cfg(feature = "flex")]
            View::FusedPrefill { plan, heads, lens, kept } => {
                let (keys, values) = (host(k.clone()), host(v.clone()));
                kept.push(Tokens::of_prompts(*heads, plan.angles(), lens, [&keys, &values]));
                crate::fused::rotary_attention(q, k, v, plan.clone())
            }
            #[cfg(feature = "flex")]
            View::FusedDecode { angles, heads, rows } => {
                let (shape, device) = (q.dims(), q.device());
                let [q, k, v] = [q, k, v].map(host);
                let out = decode::attend(*heads, angles, rows, [&q, &k, &v]);
                Tensor::from_data(TensorData::new(out, shape), (&device, DType::F32))
            }
            View::Decode { rotary, mask, cache, samples } => {
                let rows = q.dims()[0];
                let q = self.rotated_queries(q, rows, rotary);
                let k = rotary.apply(self.by_head(k, rows)).swap_dims(1, 2);
                cache.push(k, self.by_head(v, rows).swap_dims(1, 2));
                self.flat(attend_cached(q, cache, mask, *samples))
            }
        }
    }

    /// `[B T, heads h]` to `[B, T, heads, h]`.
    fn by_head(&self, x: Tensor<2>, batch: usize) -> Tensor<4> {
        let [n, width] = x.dims();
        x.reshape([batch, n / batch, width / self.head_dim, self.head_dim])
    }

    /// Rotated and scaled queries, `[B, H, T, h]`.
    fn rotated_queries(&self, q: Tensor<2>, batch: usize, rotary: &Rotary) -> Tensor<4> {
        let scale = (self.head_dim as f64).sqrt().recip();
        rotary.apply(self.by_head(q, batch)).mul_scalar(scale).swap_dims(1, 2)
    }

    /// `[B, H, T, h]` to `[B T, H h]`.
    fn flat(&self, x: Tensor<4>) -> Tensor<2> {
        let [b, h, t, hd] = x.dims();
        x.swap_dims(1, 2).reshape([b * t, h * hd])
    }
}

/// The values of a tensor of the CPU backend.
#[cfg(feature = "flex")]
fn host(x: Tensor<2>) -> Vec<f32> {
    x.into_data().try_into_vec().expect("the CPU's kernels compute in f32")
}

/// `softmax(q k^T + mask) v`; `q` is `[B, H, T, h]` and scaled, `k` and `v` are `[B, KV, T, h]`.
fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, mask: &Tensor<4>) -> Tensor<4> {
    let [b, h, t, hd] = q.dims();
    let kv = k.dims()[1];
    let fold = |x: Tensor<4>, last: usize| x.reshape([b, kv, h / kv * t, last]);
    let scores = fold(q, hd).matmul(k.transpose()).reshape([b, h, t, t]) + mask.clone();
    let weights = activation::softmax(scores, 3);
    fold(weights, t).matmul(v).reshape([b, h, t, hd])
}

/// One query per row over the prompt shared by `samples` rows and the row's own cached tokens.
/// `q` is `[P * samples, H, 1, h]`.
fn attend_cached(q: Tensor<4>, cache: &LayerCache, mask: &Tensor<4>, samples: usize) -> Tensor<4> {
    let [rows, h, _, hd] = q.dims();
    let prompts = rows / samples;
    let [_, kv, tp, _] = cache.prompt.k.dims();
    let (own_k, own_v) = cache.own();
    let ts = own_k.dims()[2];
    let rep = h / kv;
    // [P, KV, samples * rep, h]: all samples of a prompt read its keys in one product.
    let shared = q.clone().reshape([prompts, samples, kv, rep, hd]).swap_dims(1, 2).reshape([
        prompts,
        kv,
        samples * rep,
        hd,
    ]);
    let to_rows = |x: Tensor<4>, last: usize| {
        x.reshape([prompts, kv, samples, rep, last]).swap_dims(1, 2).reshape([rows, kv, rep, last])
    };
    let over_prompt = shared.matmul(cache.prompt.k.clone().transpose()) + mask.clone();
    let over_own = q.reshape([rows, kv, rep, hd]).matmul(own_k.transpose());
    let weights = activation::softmax(Tensor::cat(vec![to_rows(over_prompt, tp), over_own], 3), 3);
    let prompt_weights = weights
        .clone()
        .narrow(3, 0, tp)
        .reshape([prompts, samples, kv, rep, tp])
        .swap_dims(1, 2)
        .reshape([prompts, kv, samples * rep, tp]);
    let from_prompt = to_rows(prompt_weights.matmul(cache.prompt.v.clone()), hd);
    let from_own = weights.narrow(3, tp, ts).matmul(own_v);
    (from_prompt + from_own).reshape([rows, h, 1, hd])
}
