//! How the terms of tokens become one number.
//!
//! With `S` judged samples of `len[s]` policy tokens in the whole batch, each token of a sample
//! weighs `w[s]`. The names of the literature are verl's; each is accepted in a configuration too.
//!
//! | here | verl | used by |
//! |---|---|---|
//! | `sequence_mean` | `seq-mean-token-mean` | GRPO, GSPO |
//! | `token_mean` | `token-mean` | DAPO, CISPO |
//! | `sequence_sum` | `seq-mean-token-sum` | the policy gradient itself |
//! | `constant` | `seq-mean-token-sum-norm` | Dr. GRPO |

use serde::{Deserialize, Serialize};

/// How tokens are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Aggregation {
    /// Mean over the tokens of a sample, then over samples (GRPO): `w = 1 / (S * len)`.
    #[serde(alias = "seq-mean-token-mean")]
    SequenceMean,
    /// Mean over all tokens of the batch (DAPO): `w = 1 / sum(len)`.
    #[serde(alias = "token-mean")]
    TokenMean,
    /// Sum over the tokens of a sample, mean over samples: `w = 1 / S`.
    #[serde(alias = "seq-mean-token-sum")]
    SequenceSum,
    /// Sum over tokens divided by a constant, mean over samples (Dr. GRPO): `w = 1 / (S * length)`.
    #[serde(alias = "seq-mean-token-sum-norm")]
    Constant {
        /// The constant, in tokens, above 0. Usual: the longest completion allowed.
        length: u32,
    },
}

impl Aggregation {
    /// The weight of each of a sample's tokens. `samples` and `tokens` count the judged samples
    /// of the whole batch and their policy tokens; `len` is this sample's.
    #[must_use]
    pub fn weight(self, samples: usize, tokens: usize, len: usize) -> f64 {
        match self {
            Self::SequenceMean => 1.0 / (samples as f64 * len as f64),
            Self::TokenMean => 1.0 / tokens as f64,
            Self::SequenceSum => 1.0 / samples as f64,
            Self::Constant { length } => 1.0 / (samples as f64 * f64::from(length)),
        }
    }
}
