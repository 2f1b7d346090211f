//! [`Policy`] for [`CausalLm`]: a forward without a graph that keeps the input of each block, the
//! head by chunks with gradients of its own, and the blocks backward one by one.

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use swerl_grpo::batch::TokenBatch;
use swerl_grpo::policy::{Policy, PolicyError, TokenScores, Upstream};

use crate::causal_lm::CausalLm;
use crate::layout::Layout;
use crate::logprob::Head;

impl CausalLm {
    fn check(&self, batch: &TokenBatch) -> Result<Vec<u32>, PolicyError> {
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
        Ok(batch.targets.iter().map(|t| t.token).collect())
    }

    /// What the head is made of.
    fn head_parameter(&self) -> &Param<Tensor<2>> {
        self.lm_head.as_ref().map_or(&self.embed_tokens.weight, |head| &head.weight)
    }

    /// Adds the head's own gradient to that of the parameter it is made of.
    fn add_head_gradient(&self, gradients: &mut GradientsParams, weight: Tensor<2>) {
        let id = self.head_parameter().id;
        let weight = if self.lm_head.is_some() { weight.transpose() } else { weight };
        let sum = match gradients.remove::<2>(id) {
            Some(other) => other + weight,
            None => weight,
        };
        gradients.register(id, sum);
    }
}

/// Where the states that predict the targets lie.
fn places(layout: &Layout, batch: &TokenBatch) -> Vec<usize> {
    batch.targets.iter().map(|t| layout.place(t.row, t.index)).collect()
}

impl Policy for CausalLm {
    fn score(&self, batch: &TokenBatch) -> Result<TokenScores, PolicyError> {
        let tokens = self.check(batch)?;
        let model = if self.device().is_autodiff() { self.valid() } else { self.clone() };
        let layout = Layout::new(&batch.rows, self.config(), &model.device());
        let hidden = model.hidden(&layout, &places(&layout, batch), None);
        let head = Head { weight: model.head(), temperature: batch.temperature };
        let (log_prob, entropy) = head.score(&hidden, &tokens);
        Ok(TokenScores { log_prob, entropy })
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
        let tokens = self.check(batch)?;
        if !self.device().is_autodiff() {
            return Err(PolicyError::Unsupported {
                what: "gradients of a model outside an autodiff device",
            });
        }
        let model = self.valid();
        let layout = Layout::new(&batch.rows, self.config(), &model.device());
        let places = places(&layout, batch);
        let mut kept = Vec::with_capacity(self.config().num_hidden_layers + 1);
        let plain = model.hidden(&layout, &places, Some(&mut kept));
        let head = Head { weight: self.head().inner(), temperature: batch.temperature };
        let (log_prob, entropy) = head.score(&plain, &tokens);
        let scores = TokenScores { log_prob, entropy };
        let given = upstream(&scores)?;
        for (what, tensor) in [("log_prob", &given.log_prob), ("entropy", &given.entropy)] {
            let found = tensor.dims()[0];
            if found != tokens.len() {
                return Err(PolicyError::Upstream { what, found, expected: tokens.len() });
            }
        }
        let has_entropy = given.to_host()?.1.iter().any(|&b| b != 0.0);
        let entropy = has_entropy.then_some((&given.entropy, &scores.entropy));
        let wanted = self.head_parameter().val().is_require_grad();
        let head_gradients = head.backward(&plain, &tokens, &given.log_prob, entropy, wanted);
        let layout = Layout::new(&batch.rows, self.config(), &self.device());
        let mut gradients = self.backward_blocks(&layout, &places, kept, head_gradients.hidden);
        if let Some(weight) = head_gradients.weight {
            self.add_head_gradient(&mut gradients, weight);
        }
        Ok(gradients)
    }
}
