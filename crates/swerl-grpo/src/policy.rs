//! The policy, as the trainer sees it: scores of tokens, and gradients for given upstream ones.
//!
//! Two phases, so that a model may recompute its blocks during the backward pass instead of
//! keeping them: [`Policy::score`] works without a graph, the loss turns the scores into upstream
//! gradients on small `[targets]` tensors, and [`Policy::backward`] carries those into the
//! parameters. [`Policy::score_backward`] does both with one forward where a model can.

use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::batch::{BatchError, TokenBatch};

/// One value per target of a batch, for log-probability and entropy.
///
/// Also used for their upstream gradients, `d loss / d log_prob` and `d loss / d entropy`.
/// Neither tensor carries a graph.
#[derive(Debug, Clone)]
pub struct TokenScores {
    /// Natural log-probability of each target at the batch's temperature. `[targets]`, f32.
    pub log_prob: Tensor<1>,
    /// Entropy in nats of the distribution that predicts each target. `[targets]`, f32.
    pub entropy: Tensor<1>,
}

impl TokenScores {
    /// Copies host values to `device`, as f32 without a graph.
    ///
    /// # Panics
    /// If the two differ in length.
    #[must_use]
    pub fn from_host(log_prob: Vec<f32>, entropy: Vec<f32>, device: &Device) -> Self {
        assert_eq!(log_prob.len(), entropy.len(), "one log-prob and one entropy per target");
        let device = device.clone().inner();
        let upload = |values: Vec<f32>| {
            let len = values.len();
            Tensor::from_data(TensorData::new(values, [len]), (&device, DType::F32))
        };
        Self { log_prob: upload(log_prob), entropy: upload(entropy) }
    }

    /// Copies `(log_prob, entropy)` to the host.
    ///
    /// # Errors
    /// [`PolicyError::Read`] when the device fails.
    pub fn to_host(&self) -> Result<(Vec<f32>, Vec<f32>), PolicyError> {
        Ok((
            read("log-probabilities", self.log_prob.clone())?,
            read("entropies", self.entropy.clone())?,
        ))
    }
}

/// Reads a tensor as f32; `what` names it in the error.
pub(crate) fn read<const D: usize>(
    what: &'static str,
    tensor: Tensor<D>,
) -> Result<Vec<f32>, PolicyError> {
    tensor.try_into_vec_as::<f32>().map_err(|source| PolicyError::Read { what, source })
}

/// What [`Policy::score_backward`] calls between forward and backward: scores in, upstream out.
pub type Upstream<'a> = dyn FnMut(&TokenScores) -> Result<TokenScores, PolicyError> + 'a;

/// A model that can be trained on a [`TokenBatch`].
///
/// Implemented for a Burn module whose parameters live on an autodiff device. Neither method may
/// draw random numbers: the same batch must give the same scores.
pub trait Policy {
    /// Scores every target, without a graph.
    ///
    /// # Errors
    /// [`PolicyError`] when the batch does not fit the model, or the device fails.
    fn score(&self, batch: &TokenBatch) -> Result<TokenScores, PolicyError>;

    /// Gradients of `sum(upstream.log_prob * log_prob + upstream.entropy * entropy)` with respect
    /// to the parameters, where the sum runs over the batch's targets.
    ///
    /// # Errors
    /// As [`Policy::score`], and when `upstream` does not have one value per target.
    fn backward(
        &self,
        batch: &TokenBatch,
        upstream: &TokenScores,
    ) -> Result<GradientsParams, PolicyError>;

    /// [`Policy::score`], then `upstream` on the scores, then [`Policy::backward`].
    ///
    /// Override it where one forward serves both. The scores must be those that
    /// [`Policy::score`] gives.
    ///
    /// # Errors
    /// As the two, and what `upstream` returns.
    fn score_backward(
        &self,
        batch: &TokenBatch,
        upstream: &mut Upstream<'_>,
    ) -> Result<GradientsParams, PolicyError> {
        let scores = self.score(batch)?;
        let upstream = upstream(&scores)?;
        self.backward(batch, &upstream)
    }
}

/// Why a policy could not score a batch or derive its gradients.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The batch breaks its own rules.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A token id that the model does not have.
    #[error("row {row}, token {index}: id {token} is outside the vocabulary of {vocabulary}")]
    Token {
        /// Index of the row.
        row: usize,
        /// Index of the token in the row.
        index: usize,
        /// The token id.
        token: u32,
        /// Number of tokens that the model has.
        vocabulary: usize,
    },
    /// A sequence longer than the model's context.
    #[error(
        "row {row} reaches position {position}, the model's context ends at {context}: shorten prompts or completions"
    )]
    Context {
        /// Index of the row.
        row: usize,
        /// The position, from 0.
        position: u32,
        /// Number of positions that the model has.
        context: usize,
    },
    /// Upstream gradients that do not fit the batch.
    #[error("the upstream {what} has {found} values for {expected} targets")]
    Upstream {
        /// `log_prob` or `entropy`.
        what: &'static str,
        /// Number of values.
        found: usize,
        /// Number of targets.
        expected: usize,
    },
    /// A policy that did not score every target.
    #[error("the policy gave {found} values ({what}) for {expected} targets")]
    Scores {
        /// Log-probs or entropies.
        what: &'static str,
        /// Number of values.
        found: usize,
        /// Number of targets.
        expected: usize,
    },
    /// Something the model does not offer.
    #[error("this policy does not support {what}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// A value that is infinite or not a number.
    #[error("target {target} (sample {sample}): {what} is {value}")]
    NonFinite {
        /// Index of the target.
        target: usize,
        /// Its sample.
        sample: usize,
        /// What the value is.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// The caller of [`Policy::score_backward`] refused the scores; it knows why.
    #[error("the scores were refused")]
    Refused,
    /// The device failed while a tensor was read.
    #[error("reading the {what} from the device failed")]
    Read {
        /// What was read.
        what: &'static str,
        /// The device's error.
        source: burn::tensor::TensorReadError,
    },
}
