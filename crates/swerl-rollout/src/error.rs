//! What can go wrong outside the model's own words: requests, policies, files, the wish to stop.
//!
//! Nothing that a model writes is an error here; that is scored.

use std::path::PathBuf;

use swerl_grpo::PolicyError;

/// Why prompts could not be continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A sampling parameter out of range.
    #[error("{field} is {value}, it must be {range}")]
    Params {
        /// The field of [`crate::SamplingParams`] or [`crate::SampleRequest`].
        field: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// A prompt without tokens: nothing predicts its first one.
    #[error("{id}: the prompt has no tokens")]
    EmptyPrompt {
        /// The prompt's name.
        id: String,
    },
    /// A prompt and its completion do not fit the model.
    #[error(
        "{id}: a prompt of {prompt_tokens} tokens and {max_new_tokens} new ones pass the model's context of {context}; lower the prompt budget or max_new_tokens"
    )]
    Context {
        /// The prompt's name.
        id: String,
        /// Its length in tokens.
        prompt_tokens: usize,
        /// The longest completion asked for.
        max_new_tokens: usize,
        /// Positions that the model has.
        context: usize,
    },
    /// A prompt token that the model does not have: the tokenizer is another model's.
    #[error(
        "{id}: token {token} is outside the model's vocabulary of {vocabulary}; tokenizer and model do not belong together"
    )]
    Vocabulary {
        /// The prompt's name.
        id: String,
        /// The token.
        token: u32,
        /// Number of tokens that the model has.
        vocabulary: usize,
    },
    /// Logits that are no distribution: the weights have diverged.
    #[error(
        "{id}, sample {sample}, token {position}: the logits are not finite; the weights have diverged"
    )]
    Logits {
        /// The prompt's name.
        id: String,
        /// Number of the sample.
        sample: usize,
        /// Number of the token, from 0.
        position: usize,
    },
    /// The policy or its device failed.
    #[error("the policy failed while sampling")]
    Policy {
        /// The cause.
        #[from]
        source: PolicyError,
    },
    /// A test's script gave a completion without tokens.
    #[error("{id}: the script gave no token")]
    EmptyScript {
        /// The prompt's name.
        id: String,
    },
    /// A sampler returned another number of completions than it was asked for.
    #[error("{id}: {found} completions came back for {expected}")]
    Count {
        /// The prompt's name.
        id: String,
        /// Completions that came back.
        found: usize,
        /// Completions asked for.
        expected: usize,
    },
    /// An inference engine failed.
    #[cfg(feature = "engine")]
    #[error("the inference engine failed")]
    Engine {
        /// The cause.
        source: Box<crate::engine::EngineError>,
    },
    /// The observer asked to stop.
    #[error("sampling was interrupted")]
    Interrupted,
}

#[cfg(feature = "engine")]
impl From<crate::engine::EngineError> for SampleError {
    fn from(error: crate::engine::EngineError) -> Self {
        match error {
            crate::engine::EngineError::Interrupted => Self::Interrupted,
            source => Self::Engine { source: Box::new(source) },
        }
    }
}

/// Why a step's groups could not be collected, or a policy not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// Sampling failed.
    #[error("sampling failed at step {step}")]
    Sample {
        /// The training step.
        step: u64,
        /// The cause.
        source: SampleError,
    },
    /// The trace could not be written.
    #[error("the trace of step {step} was not written")]
    Trace {
        /// The training step.
        step: u64,
        /// The cause.
        source: TraceError,
    },
    /// The external reward failed.
    #[error("the rewards of step {step} could not be had")]
    Reward {
        /// The training step.
        step: u64,
        /// The cause.
        source: crate::external::RewardError,
    },
    /// There is nothing to sample from.
    #[error("no seeds: the list of examples is empty")]
    NoSeeds,
    /// A setting that makes no groups.
    #[error("{field} is 0, it must be at least 1")]
    Zero {
        /// The field of the settings.
        field: &'static str,
    },
}

impl CollectError {
    /// Whether nothing is wrong: the observer asked to stop.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Sample { source: SampleError::Interrupted, .. })
    }
}

/// Why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be opened, read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is not a record of this version.
    #[error("{}, line {line}: not a trace record", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
    /// A record of another version.
    #[error("{}, line {line}: trace version {found}, this program reads {expected}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The version found.
        found: u32,
        /// The version read here.
        expected: u32,
    },
}
