//! The forward pass of a part of a batch, and from what it keeps the backward pass.
//!
//! Small parts keep the graph of all blocks. Others keep the input of each block and no graph, and
//! compute each block once more: a third more work, and the memory of one block.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use swerl_grpo::batch::{Target, TokenBatch};
use swerl_grpo::policy::{PolicyError, TokenScores};

use crate::backward::Inputs;
use crate::causal_lm::CausalLm;
use crate::config::ModelConfig;
use crate::layout::Layout;
use crate::logprob::{Head, Logits};
use crate::parts::Part;

/// What the backward pass is to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// The input of each block.
    Inputs,
    /// All activations.
    Graph,
}

impl Keep {
    /// For gradients of `tokens` tokens and `targets` targets within `limit` bytes of activations.
    pub(crate) fn within(
        limit: usize,
        (tokens, targets): (usize, usize),
        config: &ModelConfig,
    ) -> Self {
        let blocks = tokens.saturating_mul(activation_bytes(config));
        let logits = targets.saturating_mul(4 * config.vocab_size);
        if blocks.saturating_add(logits) <= limit { Self::Graph } else { Self::Inputs }
    }
}

/// Bytes of activations that the graph of a token keeps on the fused path, f32.
fn activation_bytes(config: &ModelConfig) -> usize {
    let q = config.num_attention_heads * config.head_dim;
    let kv = config.num_key_value_heads * config.head_dim;
    // Two norms in and out, the residual, the queries, keys, values and output of attention,
    // and gate, up and their product.
    let block = 6 * config.hidden_size + 2 * q + 2 * kv + 3 * config.intermediate_size;
    4 * block * config.num_hidden_layers
}

enum Kept {
    Nothing,
    Inputs(Inputs),
    /// A model of its own, on the autodiff device, and the final states with their graph.
    Graph(Box<(CausalLm, Tensor<2>)>),
}

/// What the forward pass of a part gives.
pub(crate) struct Forward {
    layout: Layout,
    /// Where the states that predict the part's targets lie.
    places: Vec<usize>,
    tokens: Vec<u32>,
    /// Final states at `places`, without a graph.
    hidden: Tensor<2>,
    /// Logits of the part's targets, where kept.
    logits: Logits,
    /// Log-probability and entropy of each target of the part.
    pub(crate) scores: (Vec<f32>, Vec<f32>),
    kept: Kept,
}

impl CausalLm {
    /// Scores a part. To keep a graph, `self` is on the autodiff device.
    pub(crate) fn forward_part(
        &self,
        batch: &TokenBatch,
        part: &Part,
        keep: Keep,
    ) -> Result<Forward, PolicyError> {
        let autodiff = self.device().is_autodiff();
        let graph = keep == Keep::Graph && autodiff;
        let model = if autodiff && !graph { self.valid() } else { self.clone() };
        let layout = Layout::new(&batch.rows[part.rows.clone()], self.config(), &model.device());
        let place = |t: &Target| layout.place(t.row as usize - part.rows.start, t.index as usize);
        let places: Vec<usize> = part.targets(batch).map(place).collect();
        let tokens: Vec<u32> = part.targets(batch).map(|t| t.token).collect();
        let mut inputs = Inputs::new();
        let wanted = (keep == Keep::Inputs).then_some(&mut inputs);
        let (hidden, kept) = match model.hidden(&layout, &places, wanted) {
            hidden if graph => (hidden.clone().inner(), Kept::Graph(Box::new((model, hidden)))),
            hidden if keep == Keep::Inputs => (hidden, Kept::Inputs(inputs)),
            hidden => (hidden, Kept::Nothing),
        };
        let weight = self.head();
        let weight = if autodiff { weight.inner() } else { weight };
        let head = Head { weight, temperature: batch.temperature };
        let mut logits = None;
        let wanted = graph.then_some(&mut logits);
        let (log_prob, entropy) = head.score(&hidden, &tokens, wanted);
        let scores = TokenScores { log_prob, entropy }.to_host()?;
        Ok(Forward { layout, places, tokens, hidden, logits, scores, kept })
    }

    /// Gradients for the part's share of `upstream`; `self` is on the autodiff device.
    pub(crate) fn backward_part(
        &self,
        batch: &TokenBatch,
        part: &Part,
        forward: Forward,
        upstream: &(Vec<f32>, Vec<f32>),
    ) -> GradientsParams {
        let Forward { layout, places, tokens, hidden, logits, scores, kept } = forward;
        let (a, b) = (part.select(&upstream.0), part.select(&upstream.1));
        let has_entropy = b.iter().any(|&b| b != 0.0);
        let given = TokenScores::from_host(a, b, &self.device());
        let scores = TokenScores::from_host(scores.0, scores.1, &self.device());
        let entropy = has_entropy.then_some((&given.entropy, &scores.entropy));
        let head = Head { weight: self.head().inner(), temperature: batch.temperature };
        let wanted = self.head_parameter().val().is_require_grad();
        let head = head.backward((&hidden, logits), &tokens, &given.log_prob, entropy, wanted);
        let mut gradients = match kept {
            Kept::Graph(kept) => {
                let (model, hidden) = *kept;
                let objective = (hidden * head.hidden.autodiff()).sum();
                GradientsParams::from_grads(objective.backward(), &model)
            }
            Kept::Inputs(inputs) => self.backward_blocks(&layout, &places, inputs, head.hidden),
            Kept::Nothing => unreachable!("gradients are asked of passes that keep their inputs"),
        };
        if let Some(weight) = head.weight {
            self.add_head_gradient(&mut gradients, weight);
        }
        gradients
    }
}
