//! The decoder with its head: hidden states for training, prefill and step for sampling.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Initializer, Linear, RmsNorm, RmsNormConfig};
use burn::tensor::{DType, Device, Tensor, TensorData};
#[cfg(feature = "flex")]
use swerl_grpo::batch::Row;

use crate::attention::View;
use crate::block::Block;
#[cfg(feature = "flex")]
use crate::cache::host;
use crate::cache::tensors::{self, MASKED, index};
use crate::cache::{DecodeCache, PromptCache, Prompts, Rows};
use crate::config::ModelConfig;
#[cfg(feature = "flex")]
use crate::fused::angles::Angles;
#[cfg(feature = "flex")]
use crate::fused::decode::Heads;
use crate::linear::{INIT_STD, linear};
use crate::mask;
use crate::ops::{few_rows, rms_norm};
use crate::rotary::{Rotary, frequencies};

/// A Llama-family decoder with a language-model head.
///
/// Parameters live on the device given at construction. For training that is an autodiff device;
/// everything that needs no gradient runs on `self.valid()`, which keeps no graph.
#[derive(Module, Debug)]
pub struct CausalLm {
    pub(crate) embed_tokens: Embedding,
    pub(crate) layers: Vec<Block>,
    pub(crate) norm: RmsNorm,
    pub(crate) lm_head: Option<Linear>,
    #[module(skip)]
    config: ModelConfig,
    #[module(skip)]
    kept_activations: usize,
}

/// Bytes of activations that training keeps at most, unless told otherwise.
const KEPT_ACTIVATIONS: usize = 1 << 30;

impl CausalLm {
    /// A model with random weights (normal, standard deviation 0.02, norms 1), drawn from the
    /// device's generator: seed the device first.
    ///
    /// # Panics
    /// If the configuration does not pass [`ModelConfig::validate`].
    pub fn new(config: &ModelConfig, device: &Device) -> Self {
        config.validate().expect("a valid model configuration");
        let d = config.hidden_size;
        let layers = (0..config.num_hidden_layers).map(|_| Block::new(config, device)).collect();
        Self {
            embed_tokens: EmbeddingConfig::new(config.vocab_size, d)
                .with_initializer(Initializer::Normal { mean: 0.0, std: INIT_STD })
                .init(device),
            layers,
            norm: RmsNormConfig::new(d).with_epsilon(config.rms_norm_eps).init(device),
            lm_head: (!config.tie_word_embeddings).then(|| linear(d, config.vocab_size, device)),
            config: config.clone(),
            kept_activations: KEPT_ACTIVATIONS,
        }
    }

    /// On the CPU, a micro-batch whose activations fit into `bytes` (1 GiB at first) keeps them for
    /// its gradients; a larger one keeps the input of each block and computes the block again. With
    /// 0, and on other devices, every block is computed again.
    #[must_use]
    pub fn with_kept_activations(self, bytes: usize) -> Self {
        Self { kept_activations: bytes, ..self }
    }

    /// See [`CausalLm::with_kept_activations`].
    pub(crate) fn kept_activations(&self) -> usize {
        self.kept_activations
    }

    /// The configuration it was built from.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The device of its parameters.
    pub fn device(&self) -> Device {
        self.embed_tokens.weight.val().device()
    }

    /// All blocks and the final norm on `[N, d]`.
    fn blocks(&self, mut x: Tensor<2>, view: &mut View<'_>) -> Tensor<2> {
        for block in &self.layers {
            x = block.forward(x, view);
        }
        rms_norm(&self.norm, x)
    }

    /// Computes `prompts` once. Returns their cache and the logits after each prompt's last token,
    /// `[P, V]`, at temperature 1.
    ///
    /// # Panics
    /// If there is no prompt or an empty one.
    pub fn prefill(&self, prompts: &[Vec<u32>]) -> (PromptCache, Tensor<2>) {
        assert!(
            prompts.iter().all(|p| !p.is_empty()) && !prompts.is_empty(),
            "prompts are not empty"
        );
        let lens: Vec<usize> = prompts.iter().map(Vec::len).collect();
        #[cfg(feature = "flex")]
        if crate::fused::is_fused(&self.device()) {
            return self.prefill_fused(prompts, lens);
        }
        self.prefill_padded(prompts, lens)
    }

    /// Prompts end to end, for the CPU's kernel.
    #[cfg(feature = "flex")]
    fn prefill_fused(&self, prompts: &[Vec<u32>], lens: Vec<usize>) -> (PromptCache, Tensor<2>) {
        let rows: Vec<Row> = prompts.iter().map(|p| Row::plain(p.clone())).collect();
        let heads = Heads::of(&self.config);
        let mut layers = Vec::with_capacity(self.layers.len());
        let plan = crate::layout::plan(&rows, &self.config);
        let mut view = View::FusedPrefill { plan, heads, lens: &lens, kept: &mut layers };
        let x = self.blocks(self.embed(&prompts.concat()), &mut view);
        let ends = lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end - 1)
        });
        let last: Vec<usize> = ends.collect();
        let logits = self.logits(x.select(0, index(&last, &self.device())));
        (PromptCache { lens, prompts: Prompts::Host(host::Prompts { heads, layers }) }, logits)
    }

    /// Prompts padded to the longest.
    fn prefill_padded(&self, prompts: &[Vec<u32>], lens: Vec<usize>) -> (PromptCache, Tensor<2>) {
        let device = self.device();
        let len = lens.iter().copied().max().unwrap_or(0);
        let positions: Vec<u32> =
            (0..len).map(|p| u32::try_from(p).expect("positions fit u32")).collect();
        let rotary = Rotary::new(&frequencies(&self.config), &positions, 1, &device);
        let mask = mask::causal(len, &device);
        let padded = prompts
            .iter()
            .flat_map(|p| p.iter().copied().chain(std::iter::repeat_n(0, len - p.len())));
        let tokens: Vec<u32> = padded.collect();
        let mut layers = Vec::with_capacity(self.layers.len());
        let mut view =
            View::Prefill { batch: prompts.len(), rotary: &rotary, mask: &mask, kept: &mut layers };
        let x = self.blocks(self.embed(&tokens), &mut view);
        let last: Vec<usize> = lens.iter().enumerate().map(|(p, l)| p * len + l - 1).collect();
        let logits = self.logits(x.select(0, index(&last, &device)));
        let mut padding = vec![0f32; prompts.len() * len];
        for (row, l) in padding.chunks_mut(len).zip(&lens) {
            row[*l..].fill(MASKED);
        }
        let shape = [prompts.len(), 1, 1, len];
        let mask = Tensor::from_data(TensorData::new(padding, shape), (&device, DType::F32));
        (
            PromptCache {
                lens,
                prompts: Prompts::Tensors(Box::new(tensors::Prompts { layers, mask })),
            },
            logits,
        )
    }

    /// Feeds one token to each sequence and returns the logits of the next, `[rows, V]`, at
    /// temperature 1.
    ///
    /// # Panics
    /// If `tokens` has not one entry per sequence, or a sequence has no room for it.
    pub fn step(&self, cache: &mut DecodeCache, tokens: &[u32]) -> Tensor<2> {
        assert_eq!(tokens.len(), cache.rows(), "one token per sequence");
        assert!(cache.has_room(), "each sequence has room for its token");
        let frequencies = frequencies(&self.config);
        let mut x = self.embed(tokens);
        match &mut cache.rows {
            Rows::Tensors(rows) => {
                let positions = rows.positions();
                let rotary = Rotary::new(&frequencies, &positions, tokens.len(), &self.device());
                let samples = rows.samples;
                for (block, cache) in self.layers.iter().zip(&mut rows.layers) {
                    let mut view =
                        View::Decode { rotary: &rotary, mask: &rows.mask, cache, samples };
                    x = block.forward(x, &mut view);
                }
                rows.generated += 1;
            }
            #[cfg(feature = "flex")]
            Rows::Host(rows) => {
                let angles = Angles::new(&frequencies, rows.positions());
                let heads = rows.heads;
                for (block, rows) in self.layers.iter().zip(&mut rows.layers) {
                    x = block.forward(x, &mut View::FusedDecode { angles: &angles, heads, rows });
                }
            }
        }
        self.logits(rms_norm(&self.norm, x))
    }

    /// The output head as `[V, d]`: the embedding when tied.
    pub(crate) fn head(&self) -> Tensor<2> {
        match &self.lm_head {
            Some(head) => head.weight.val().transpose(),
            None => self.embed_tokens.weight.val(),
        }
    }

    fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        let few = match &self.lm_head {
            Some(head) => few_rows(&hidden, &head.weight.val(), false),
            None => few_rows(&hidden, &self.embed_tokens.weight.val(), true),
        };
        few.unwrap_or_else(|| hidden.matmul(self.head().transpose()))
    }

    /// `[N, d]`.
    pub(crate) fn embed(&self, tokens: &[u32]) -> Tensor<2> {
        let ids: Vec<usize> = tokens.iter().map(|&t| t as usize).collect();
        self.embed_tokens.weight.val().select(0, index(&ids, &self.device()))
    }
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::*;
    use burn::tensor::Tolerance;

    /// The CPU's kernel against Burn's own operations, with rows dropped on the way.
    #[test]
    fn both_caches_give_the_same_logits() {
        let device = Device::flex();
        device.seed(3);
        let config = ModelConfig::small();
        let model = CausalLm::new(&config, &device);
        let prompts = [vec![5, 9, 2], vec![1; 17], vec![30, 3]];
        let lens: Vec<usize> = prompts.iter().map(Vec::len).collect();
        let (fused, a) = model.prefill_fused(&prompts, lens.clone());
        let (plain, b) = model.prefill_padded(&prompts, lens);
        let close = |a: Tensor<2>, b: Tensor<2>| {
            a.into_data().assert_approx_eq::<f32>(&b.into_data(), Tolerance::absolute(1e-5));
        };
        close(a, b);
        let (mut fused, mut plain) = (fused.fork(2, 4), plain.fork(2, 4));
        let step = |fused: &mut DecodeCache, plain: &mut DecodeCache, tokens: &[u32]| {
            close(model.step(fused, tokens), model.step(plain, tokens));
        };
        step(&mut fused, &mut plain, &[1, 2, 3, 4, 5, 6]);
        let keep = [true, true, false, false, true, true];
        assert_eq!(fused.retain(&keep), plain.retain(&keep));
        step(&mut fused, &mut plain, &[7, 8, 9, 10]);
        assert!(!plain.appends());
        assert_eq!(plain.retain(&[false, true, false, false]), [0, 1], "whole prompts");
    }
}
