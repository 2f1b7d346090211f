//! What a sampler hands to the trainer: token sequences, and groups of them with rewards.
//!
//! A [`Sequence`] is a prompt followed by everything that came after it. Each token is marked as
//! made by the policy or by its environment; only the policy's tokens are ever trained. A
//! [`Group`] holds the sequences that share one prompt. A reward of `None` means "could not be
//! judged", which is not the same as "wrong": such a member is masked out and counted.
//!
//! Nothing here looks at token ids to find padding or ends: a pad id equal to the end id is legal.

use crate::batch::BatchError;

/// Why a sequence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The policy ended it: an end token or a stop sequence.
    Stop,
    /// The length limit cut it.
    Length,
    /// The sampler gave it up, say when it was told to stop.
    Abort,
}

/// One prompt and what followed it, token by token.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// Token ids, the prompt first.
    pub tokens: Vec<u32>,
    /// Per token: `true` where the policy made it. As long as `tokens`.
    pub policy_mask: Vec<bool>,
    /// Per token: natural log-probability under the distribution it was sampled from, 0.0 where
    /// the policy did not make it. As long as `tokens`.
    pub behaviour_log_probs: Vec<f32>,
    /// Version of the weights that sampled it (the number of optimizer steps before them).
    pub weights_version: u64,
    /// Why it ended.
    pub finish: Finish,
}

impl Sequence {
    /// A sequence to imitate: `prompt`, then `answer` marked as the policy's, without log-probs.
    ///
    /// This is what supervised fine-tuning ([`crate::sft()`]) reads.
    #[must_use]
    pub fn supervised(prompt: &[u32], answer: &[u32]) -> Self {
        let tokens: Vec<u32> = prompt.iter().chain(answer).copied().collect();
        let policy_mask = (0..tokens.len()).map(|t| t >= prompt.len()).collect();
        Self {
            behaviour_log_probs: vec![0.0; tokens.len()],
            tokens,
            policy_mask,
            weights_version: 0,
            finish: Finish::Stop,
        }
    }

    /// Number of tokens that the policy made.
    #[must_use]
    pub fn policy_tokens(&self) -> usize {
        self.policy_mask.iter().filter(|&&made| made).count()
    }

    /// Checks the lengths, that the policy made at least one token, and not the first: it would
    /// have nothing to be predicted from.
    ///
    /// # Errors
    /// [`BatchError`], naming `id` and `member`.
    pub fn validate(&self, id: &str, member: usize) -> Result<(), BatchError> {
        let found = |what, found| BatchError::Length {
            id: id.to_owned(),
            member,
            what,
            found,
            expected: self.tokens.len(),
        };
        if self.policy_mask.len() != self.tokens.len() {
            return Err(found("policy_mask", self.policy_mask.len()));
        }
        if self.behaviour_log_probs.len() != self.tokens.len() {
            return Err(found("behaviour_log_probs", self.behaviour_log_probs.len()));
        }
        if self.policy_mask.first() == Some(&true) {
            return Err(BatchError::FirstTokenTrained { id: id.to_owned(), member });
        }
        if self.policy_tokens() == 0 {
            return Err(BatchError::NothingToTrain { id: id.to_owned(), member });
        }
        Ok(())
    }
}

/// The sequences sampled from one prompt, with their rewards.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Number of leading tokens that all sequences share.
    pub prompt_len: usize,
    /// The sequences, each starting with the prompt.
    pub sequences: Vec<Sequence>,
    /// One reward per sequence, dimensionless; `None` where it could not be judged.
    pub rewards: Vec<Option<f64>>,
    /// Name of the prompt, for messages.
    pub id: String,
}

impl Group {
    /// Checks what the trainer relies on: lengths, one shared prompt, no trained prompt token,
    /// finite rewards.
    ///
    /// # Errors
    /// [`BatchError`], naming the group and its member.
    pub fn validate(&self) -> Result<(), BatchError> {
        let id = || self.id.clone();
        if self.rewards.len() != self.sequences.len() {
            return Err(BatchError::Rewards {
                id: id(),
                rewards: self.rewards.len(),
                sequences: self.sequences.len(),
            });
        }
        let Some(first) = self.sequences.first() else {
            return Err(BatchError::EmptyGroup { id: id() });
        };
        for (member, sequence) in self.sequences.iter().enumerate() {
            sequence.validate(&self.id, member)?;
            let prompt = sequence.tokens.get(..self.prompt_len);
            if self.prompt_len == 0
                || prompt.is_none()
                || prompt != first.tokens.get(..self.prompt_len)
            {
                return Err(BatchError::Prompt { id: id(), member, prompt_len: self.prompt_len });
            }
            if sequence.policy_mask[..self.prompt_len].contains(&true) {
                return Err(BatchError::PromptTrained { id: id(), member });
            }
        }
        for (member, reward) in self.rewards.iter().enumerate() {
            if let Some(value) = reward.filter(|value| !value.is_finite()) {
                return Err(BatchError::Reward { id: id(), member, value });
            }
        }
        Ok(())
    }
}
