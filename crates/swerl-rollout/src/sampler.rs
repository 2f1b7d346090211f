//! The one interface of everything that continues prompts: the model in this process, an engine
//! elsewhere, a script in a test.
//!
//! A sampler gets the policy with each call, because in training the policy changes between
//! calls. One that works on the policy itself ([`LocalSampler`]) implements `Sampler` for that
//! policy's type; one that does not need it ([`ScriptedSampler`]) implements it for every type.

#[cfg(feature = "local")]
mod local;
mod scripted;

#[cfg(feature = "local")]
pub use local::{LocalLimits, LocalSampler};
pub use scripted::{Script, ScriptedSampler};

use crate::completion::Completion;
use crate::error::SampleError;
use crate::noise::{NoiseKey, Stream};
use crate::observer::RolloutObserver;
use crate::prompt::Prompt;
use crate::sampling::SamplingParams;

/// Prompts to continue, how, and the counters that name their noise.
#[derive(Debug, Clone, Copy)]
pub struct SampleRequest<'a> {
    /// The prompts. None may be without tokens.
    pub prompts: &'a [Prompt],
    /// Completions of each prompt, `G`.
    pub samples_per_prompt: usize,
    /// How tokens are drawn.
    pub params: &'a SamplingParams,
    /// What the samples are for; training and evaluation share no noise.
    pub stream: Stream,
    /// The run's seed.
    pub seed: u64,
    /// The training step.
    pub step: u64,
    /// Number, within the step, of `prompts[0]`. A step cut into several requests gives the same
    /// completions when the numbers run on.
    pub first_prompt: u64,
    /// Number, within each prompt, of its first sample here.
    pub first_sample: u64,
    /// Version of the policy's weights, the number of optimizer steps before them.
    pub weights_version: u64,
}

impl SampleRequest<'_> {
    /// The noise of sample `sample` of `prompts[prompt]`; positions count its tokens from 0.
    #[must_use]
    pub fn noise(&self, prompt: usize, sample: usize) -> NoiseKey {
        NoiseKey {
            stream: self.stream,
            seed: self.seed,
            step: self.step,
            prompt: self.first_prompt + prompt as u64,
            sample: self.first_sample + sample as u64,
        }
    }

    /// Checks what every sampler relies on.
    ///
    /// # Errors
    /// [`SampleError::Params`] or [`SampleError::EmptyPrompt`].
    pub fn validate(&self) -> Result<(), SampleError> {
        self.params.validate()?;
        match self.prompts.iter().find(|prompt| prompt.ids.is_empty()) {
            Some(prompt) => Err(SampleError::EmptyPrompt { id: prompt.id.clone() }),
            None => Ok(()),
        }
    }
}

/// Continues prompts under a policy of type `P`.
pub trait Sampler<P: ?Sized> {
    /// `samples_per_prompt` completions of every prompt, prompts and samples in the order of the
    /// request.
    ///
    /// Deterministic: noise depends on the request's counters alone. Each completion has at least
    /// one token.
    ///
    /// # Errors
    /// [`SampleError`], for what is wrong with the request, the policy or the world. Nothing that
    /// the model writes is an error.
    fn sample(
        &mut self,
        policy: &P,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError>;
}
