//! Log-probabilities, entropies and their gradients from hidden states, a chunk of rows at a time:
//! the logits of all rows never exist at once, so peak memory does not grow with their number. Those of a
//! batch of one chunk may be kept for the gradients.
//!
//! With `z = h W^T / T`, `p = softmax(z)`: `log_prob = z[y] - logsumexp(z)`,
//! `entropy = -sum_v p_v log p_v` (nats), and for upstream gradients `a` (log-prob) and `b`
//! (entropy) `dz = a (onehot(y) - p) - b p (log p + entropy)`. f32 throughout.

use burn::tensor::{DType, Device, Int, Tensor, TensorData, activation};

#[cfg(feature = "flex")]
use crate::fused::{head, is_fused};

/// Rows of logits held at once.
const CHUNK: usize = 1024;

/// Where and what to score: rows of `hidden`, and the token each predicts.
pub(crate) struct Head {
    /// `[V, d]`.
    pub(crate) weight: Tensor<2>,
    /// Logits are divided by it; > 0.
    pub(crate) temperature: f32,
}

/// Logits divided by the temperature, `[rows, V]`, where they were kept.
pub(crate) type Logits = Option<Vec<f32>>;

/// Gradients with respect to the hidden states and the head.
pub(crate) struct HeadGradients {
    /// `[N, d]`.
    pub(crate) hidden: Tensor<2>,
    /// `[V, d]`, where it was asked for.
    pub(crate) weight: Option<Tensor<2>>,
}

impl Head {
    /// Log-probability and entropy, `[N]` each, of `tokens[i]` under row `i` of `hidden` `[N, d]`.
    /// On the fused path the divided logits go to `kept`, where given and [`Head::keeps`].
    pub(crate) fn score(
        &self,
        hidden: &Tensor<2>,
        tokens: &[u32],
        kept: Option<&mut Logits>,
    ) -> (Tensor<1>, Tensor<1>) {
        #[cfg(feature = "flex")]
        if is_fused(&hidden.device()) {
            return self.score_fused(hidden, tokens, kept);
        }
        let _ = kept;
        let (mut log_probs, mut entropies) = (Vec::new(), Vec::new());
        for (start, len) in chunks(tokens.len()) {
            let log_p = self.log_softmax(hidden.clone().narrow(0, start, len));
            let picked =
                log_p.clone().gather(1, column(&tokens[start..start + len], &hidden.device()));
            let plogp = (log_p.clone().exp() * log_p).sum_dim(1);
            log_probs.push(picked.squeeze_dim::<1>(1));
            entropies.push(plogp.neg().squeeze_dim::<1>(1));
        }
        (Tensor::cat(log_probs, 0), Tensor::cat(entropies, 0))
    }

    /// [`Head::score`] by the fused kernel.
    #[cfg(feature = "flex")]
    fn score_fused(
        &self,
        hidden: &Tensor<2>,
        tokens: &[u32],
        mut kept: Option<&mut Logits>,
    ) -> (Tensor<1>, Tensor<1>) {
        let (mut log_probs, mut entropies) = (Vec::new(), Vec::new());
        for (start, len) in chunks(tokens.len()) {
            let mut logits = self.raw_logits(hidden.clone().narrow(0, start, len));
            let chunk = &tokens[start..start + len];
            let (log_prob, entropy) = head::score(&mut logits, chunk, self.temperature);
            log_probs.extend(log_prob);
            entropies.extend(entropy);
            if let (Some(kept), true) = (kept.as_deref_mut(), Self::keeps(tokens.len())) {
                *kept = Some(logits);
            }
        }
        let device = hidden.device();
        let tensor = |values: Vec<f32>| {
            let len = values.len();
            Tensor::from_data(TensorData::new(values, [len]), (&device, DType::F32))
        };
        (tensor(log_probs), tensor(entropies))
    }

    /// Whether the logits of so many rows may be kept: those of one chunk.
    pub(crate) fn keeps(rows: usize) -> bool {
        rows <= CHUNK
    }

    /// Gradients of `sum(a * log_prob + b * entropy)`. `entropy` holds `b` and the entropies
    /// themselves; `None` when `b` is zero. The head's own is made where `weight_wanted`. `kept` is
    /// what [`Head::score`] left there.
    pub(crate) fn backward(
        &self,
        (hidden, mut kept): (&Tensor<2>, Logits),
        tokens: &[u32],
        a: &Tensor<1>,
        entropy: Option<(&Tensor<1>, &Tensor<1>)>,
        weight_wanted: bool,
    ) -> HeadGradients {
        let mut parts = Vec::new();
        let mut weight: Option<Tensor<2>> = None;
        for (start, len) in chunks(tokens.len()) {
            let h = hidden.clone().narrow(0, start, len);
            let tokens = &tokens[start..start + len];
            let part = |x: &Tensor<1>| x.clone().narrow(0, start, len);
            let dz = self.logit_gradient(
                (h.clone(), kept.take()),
                tokens,
                part(a),
                entropy.map(|(b, e)| (part(b), part(e))),
            );
            parts.push(dz.clone().matmul(self.weight.clone()));
            if weight_wanted {
                let dw = dz.transpose().matmul(h);
                weight = Some(match weight {
                    None => dw,
                    Some(sum) => sum + dw,
                });
            }
        }
        HeadGradients { hidden: Tensor::cat(parts, 0), weight }
    }

    /// Gradient with respect to the logits of one chunk, `[len, V]`.
    fn logit_gradient(
        &self,
        (h, kept): (Tensor<2>, Logits),
        tokens: &[u32],
        a: Tensor<1>,
        entropy: Option<(Tensor<1>, Tensor<1>)>,
    ) -> Tensor<2> {
        let device = h.device();
        #[cfg(feature = "flex")]
        if is_fused(&device) {
            let mut logits = kept.unwrap_or_else(|| {
                let mut logits = self.raw_logits(h);
                head::divide(&mut logits, self.temperature);
                logits
            });
            let host = |x: Tensor<1>| x.into_data().iter::<f32>().collect::<Vec<f32>>();
            let entropy = entropy.map(|(b, e)| (host(b), host(e)));
            let entropy = entropy.as_ref().map(|(b, e)| (b.as_slice(), e.as_slice()));
            head::gradient(&mut logits, tokens, self.temperature, &host(a), entropy);
            let shape = [tokens.len(), logits.len() / tokens.len()];
            return Tensor::from_data(TensorData::new(logits, shape), (&device, DType::F32));
        }
        let _ = kept;
        let column_of = |x: Tensor<1>| x.unsqueeze_dim::<2>(1);
        let log_p = self.log_softmax(h);
        let p = log_p.clone().exp();
        let a = column_of(a);
        let mut dz = p.clone() * a.clone().neg();
        if let Some((b, values)) = entropy {
            dz = dz - p * (log_p + column_of(values)) * column_of(b);
        }
        let dz = dz.scatter(1, column(tokens, &device), a, burn::tensor::IndexingUpdateOp::Add);
        dz.div_scalar(self.temperature)
    }

    #[cfg(feature = "flex")]
    fn raw_logits(&self, hidden: Tensor<2>) -> Vec<f32> {
        let logits = hidden.matmul(self.weight.clone().transpose());
        logits.into_data().try_into_vec::<f32>().expect("logits are f32")
    }

    fn log_softmax(&self, hidden: Tensor<2>) -> Tensor<2> {
        let logits = hidden.matmul(self.weight.clone().transpose());
        activation::log_softmax(logits.div_scalar(self.temperature), 1)
    }
}

fn chunks(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(CHUNK).map(move |start| (start, CHUNK.min(rows - start)))
}

fn column(tokens: &[u32], device: &Device) -> Tensor<2, Int> {
    let ids: Vec<i32> =
        tokens.iter().map(|&t| i32::try_from(t).expect("token ids fit i32")).collect();
    let shape = [ids.len(), 1];
    Tensor::from_data(TensorData::new(ids, shape), (device, DType::I32))
}
