//! [`Policy`] for [`CausalLm`]: the batch in parts, of each a forward pass, the head by chunks with
//! gradients of its own, and a backward pass.

use burn::module::{Module, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;
use swerl_grpo::batch::TokenBatch;
use swerl_grpo::policy::{Policy, PolicyError, TokenScores, Upstream};

use crate::causal_lm::CausalLm;
use crate::forward::{Forward, Keep};
use crate::parts::{Part, side_by_side};

impl CausalLm {
    fn check(&self, batch: &TokenBatch) -> Result<(), PolicyError> {
        batch.validate()?;
        let (vocabulary, context) =
            (self.config().vocab_size, self.config().max_position_embeddings);
        for (number, row) in batch.rows.iter().enumerate() {
            if let Some(index) = row.tokens.iter().position(|&t| t as usize >= vocabulary) {
                return Err(PolicyError::Token {
                    row: number,
                    index,
                    token: row.tokens[index],
                    vocabulary,
                });
            }
            let last = row.positions.iter().copied().max().unwrap_or(0);
            if last as usize >= context {
                return Err(PolicyError::Context { row: number, position: last, context });
            }
        }
        if let Some(t) = batch.targets.iter().find(|t| t.token as usize >= vocabulary) {
            let (row, index) = (t.row as usize, t.index as usize);
            return Err(PolicyError::Token { row, index, token: t.token, vocabulary });
        }
        Ok(())
    }

    /// What the head is made of.
    pub(crate) fn head_parameter(&self) -> &Param<Tensor<2>> {
        self.lm_head.as_ref().map_or(&self.embed_tokens.weight, |head| &head.weight)
    }

    /// Adds the head's own gradient to that of the parameter it is made of.
    pub(crate) fn add_head_gradient(&self, gradients: &mut GradientsParams, weight: Tensor<2>) {
        let id = self.head_parameter().id;
        let weight = if self.lm_head.is_some() { weight.transpose() } else { weight };
        let sum = match gradients.remove::<2>(id) {
            Some(other) => other + weight,
            None => weight,
        };
        gradients.register(id, sum);
    }
}

impl CausalLm {
    /// The forward pass of each part.
    fn forward_parts(
        &self,
        batch: &TokenBatch,
        parts: &[Part],
        keep: Keep,
    ) -> Result<Vec<Forward>, PolicyError> {
        let work = parts.iter().map(|part| (self.apart(), part)).collect();
        side_by_side(work, |(model, part)| model.forward_part(batch, part, keep))
            .into_iter()
            .collect()
    }

    /// The same parameters with graphs of their own: parts that share a graph would wait for its
    /// lock.
    fn apart(&self) -> Self {
        self.clone().fork(&self.device())
    }

    /// The scores of all targets.
    fn gather(&self, batch: &TokenBatch, parts: &[Part], forwards: &[Forward]) -> TokenScores {
        let count = batch.targets.len();
        let (mut log_prob, mut entropy) = (vec![0f32; count], vec![0f32; count]);
        for (part, forward) in parts.iter().zip(forwards) {
            part.spread(&forward.scores.0, &mut log_prob);
            part.spread(&forward.scores.1, &mut entropy);
        }
        TokenScores::from_host(log_prob, entropy, &self.device())
    }

    /// What a forward pass keeps for the gradients of `batch`.
    fn keep(&self, batch: &TokenBatch) -> Keep {
        // The other path computes as if a block's input always had a gradient.
        let trained = self.embed_tokens.weight.val().is_require_grad();
        #[cfg(feature = "flex")]
        if trained && crate::fused::is_fused(&self.device()) {
            let sizes = (batch.tokens(), batch.targets.len());
            return Keep::within(self.kept_activations(), sizes, self.config());
        }
        let _ = (trained, batch);
        Keep::Inputs
    }
}

impl Policy for CausalLm {
    fn score(&self, batch: &TokenBatch) -> Result<TokenScores, PolicyError> {
        self.check(batch)?;
        let parts = Part::of(batch, self);
        let forwards = self.forward_parts(batch, &parts, Keep::Nothing)?;
        Ok(self.gather(batch, &parts, &forwards))
    }

    fn backward(
        &self,
        batch: &TokenBatch,
        upstream: &TokenScores,
    ) -> Result<GradientsParams, PolicyError> {
        let upstream = upstream.clone();
        self.score_backward(batch, &mut |_| Ok(upstream.clone()))
    }

    fn score_backward(
        &self,
        batch: &TokenBatch,
        upstream: &mut Upstream<'_>,
    ) -> Result<GradientsParams, PolicyError> {
        self.check(batch)?;
        if !self.device().is_autodiff() {
            return Err(PolicyError::Unsupported {
                what: "gradients of a model outside an autodiff device",
            });
        }
        let parts = Part::of(batch, self);
        let forwards = self.forward_parts(batch, &parts, self.keep(batch))?;
        let given = upstream(&self.gather(batch, &parts, &forwards))?;
        let expected = batch.targets.len();
        for (what, tensor) in [("log_prob", &given.log_prob), ("entropy", &given.entropy)] {
            let found = tensor.dims()[0];
            if found != expected {
                return Err(PolicyError::Upstream { what, found, expected });
            }
        }
        let given = given.to_host()?;
        let work = parts.iter().map(|part| (self.apart(), part)).zip(forwards).collect();
        let gradients = side_by_side(work, |((model, part), forward)| {
            model.backward_part(batch, part, forward, &given)
        });
        let mut sum = GradientsAccumulator::new();
        for part in gradients {
            sum.accumulate(self, part);
        }
        Ok(sum.grads())
    }
}
