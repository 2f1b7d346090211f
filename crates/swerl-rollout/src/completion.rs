//! What a sampler returns: token ids with both log-probabilities, and their text.
//!
//! The ids are the truth: they go to the trainer as they are, and nothing encodes the text again.
//! The text is for the reward and the reader.

use serde::{Deserialize, Serialize};
use swerl_grpo::{Finish, Sequence};

/// Seconds of wall clock spent on a completion. Shared work is not divided among those sharing it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Computing the prompts of its batch.
    pub prefill_s: f64,
    /// From the batch's first token to this completion's last.
    pub decode_s: f64,
}

/// A run of tokens that one version of the weights sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSpan {
    /// The version, the number of optimizer steps before it.
    pub version: u64,
    /// Its first token, from 0.
    pub start: usize,
    /// One past its last token.
    pub end: usize,
}

/// One continuation of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Token ids, a sampled end token included. None was ever appended.
    pub ids: Vec<u32>,
    /// Per id: natural log-probability under the distribution sampled from.
    pub log_probs: Vec<f32>,
    /// Per id: natural log-probability under the model itself (temperature 1, nothing cut).
    pub raw_log_probs: Vec<f32>,
    /// The ids decoded, without the end token.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Version of the weights that sampled it; the oldest one where several did.
    pub weights_version: u64,
    /// Who sampled which tokens, in order and without gaps, where the weights changed while it was
    /// sampled. Empty: `weights_version` sampled all of it.
    pub version_spans: Vec<VersionSpan>,
    /// Where the time went.
    pub timings: Timings,
}

impl Completion {
    /// The trainer's view: `prompt`, then the ids as the policy's, with their log-probabilities
    /// under the distribution sampled from.
    #[must_use]
    pub fn to_sequence(&self, prompt: &[u32]) -> Sequence {
        let total = prompt.len() + self.ids.len();
        let mut behaviour_log_probs = vec![0.0; prompt.len()];
        behaviour_log_probs.extend_from_slice(&self.log_probs);
        Sequence {
            tokens: prompt.iter().chain(&self.ids).copied().collect(),
            policy_mask: (0..total).map(|index| index >= prompt.len()).collect(),
            behaviour_log_probs,
            weights_version: self.weights_version,
            finish: self.finish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_completion_is_marked_as_the_policys() {
        let completion = Completion {
            ids: vec![7, 8],
            log_probs: vec![-0.5, -0.25],
            raw_log_probs: vec![-0.6, -0.3],
            text: "ab".into(),
            finish: Finish::Stop,
            weights_version: 3,
            version_spans: Vec::new(),
            timings: Timings::default(),
        };
        let sequence = completion.to_sequence(&[1, 7, 2]);
        assert_eq!(sequence.tokens, [1, 7, 2, 7, 8]);
        assert_eq!(sequence.policy_mask, [false, false, false, true, true]);
        assert_eq!(sequence.behaviour_log_probs, [0.0, 0.0, 0.0, -0.5, -0.25]);
        assert_eq!((sequence.weights_version, sequence.finish), (3, Finish::Stop));
        assert!(sequence.validate("x", 0).is_ok());
    }
}
