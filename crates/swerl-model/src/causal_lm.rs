//! The decoder with its head: hidden states for training, prefill and step for sampling.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Initializer, Linear, RmsNorm, RmsNormConfig};
use burn::tensor::{DType, Device, Tensor, TensorData};
use swerl_grpo::batch::Row;

use crate::attention::View;
use crate::block::Block;
use crate::cache::{DecodeCache, MASKED, PromptCache, index};
use crate::config::ModelConfig;
use crate::linear::{INIT_STD, linear};
use crate::mask;
use crate::ops::rms_norm;
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
}

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
        }
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
        let device = self.device();
        let lens: Vec<usize> = prompts.iter().map(Vec::len).collect();
        let len = lens.iter().copied().max().unwrap_or(0);
        let positions: Vec<u32> =
            (0..len).map(|p| u32::try_from(p).expect("positions fit u32")).collect();
        let rotary = Rotary::new(&frequencies(&self.config), &positions, 1, &device);
        let mask = mask::causal(len, &device);
        let rows: Vec<Row> = prompts
            .iter()
            .map(|p| {
                let mut tokens = p.clone();
                tokens.resize(len, 0);
                Row::plain(tokens)
            })
            .collect();
        let within = self.causal_view(&rows, &rotary, &mask);
        let tokens: Vec<u32> = rows.iter().flat_map(|r| r.tokens.iter().copied()).collect();
        let mut kept = Vec::with_capacity(self.layers.len());
        let mut view = View::Prefill {
            batch: rows.len(),
            rotary: &rotary,
            within: Box::new(within),
            kept: &mut kept,
        };
        let x = self.blocks(self.embed(&tokens), &mut view);
        let last: Vec<usize> = lens.iter().enumerate().map(|(p, l)| p * len + l - 1).collect();
        let logits = self.logits(x.select(0, index(&last, &device)));
        let mut padding = vec![0f32; prompts.len() * len];
        for (row, l) in padding.chunks_mut(len).zip(&lens) {
            row[*l..].fill(MASKED);
        }
        let shape = [prompts.len(), 1, 1, len];
        let mask = Tensor::from_data(TensorData::new(padding, shape), (&device, DType::F32));
        (PromptCache { layers: kept, lens, mask }, logits)
    }

    /// Feeds one token to each sequence (prompt-major) and returns the logits of the next,
    /// `[P * samples, V]`, at temperature 1.
    ///
    /// # Panics
    /// If `tokens` has not one entry per sequence, or the cache is full.
    pub fn step(&self, cache: &mut DecodeCache, tokens: &[u32]) -> Tensor<2> {
        assert_eq!(tokens.len(), cache.rows(), "one token per sequence");
        assert!(cache.generated < cache.capacity, "the cache holds {} tokens", cache.capacity);
        let device = self.device();
        let positions: Vec<u32> = cache
            .lens
            .iter()
            .flat_map(|l| std::iter::repeat_n(l + cache.generated, cache.samples))
            .map(|p| u32::try_from(p).expect("positions fit u32"))
            .collect();
        let rotary = Rotary::new(&frequencies(&self.config), &positions, tokens.len(), &device);
        let mut x = self.embed(tokens);
        let samples = cache.samples;
        for (block, layer) in self.layers.iter().zip(&mut cache.layers) {
            let mut view =
                View::Decode { rotary: &rotary, mask: &cache.mask, cache: layer, samples };
            x = block.forward(x, &mut view);
        }
        cache.generated += 1;
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
        hidden.matmul(self.head().transpose())
    }

    /// `rows` of one length, each seeing itself causally.
    #[cfg_attr(not(feature = "flex"), allow(unused_variables))]
    fn causal_view<'a>(&self, rows: &[Row], rotary: &'a Rotary, mask: &'a Tensor<4>) -> View<'a> {
        #[cfg(feature = "flex")]
        if crate::fused::is_fused(&self.device()) {
            return View::Fused(crate::layout::plan(rows, &self.config));
        }
        View::Masked { batch: rows.len(), rotary, mask }
    }

    /// `[N, d]`.
    pub(crate) fn embed(&self, tokens: &[u32]) -> Tensor<2> {
        let ids: Vec<usize> = tokens.iter().map(|&t| t as usize).collect();
        self.embed_tokens.weight.val().select(0, index(&ids, &self.device()))
    }
}
