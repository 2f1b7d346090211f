//! Completions from a script: for tests of what stands around a sampler, without a model.

use swerl_grpo::Finish;

use crate::codec::TextCodec;
use crate::completion::{Completion, Timings};
use crate::error::SampleError;
use crate::observer::RolloutObserver;
use crate::prompt::Prompt;
use crate::sampler::{SampleRequest, Sampler};

/// What one scripted completion says.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its text; encoded for the ids, then the request's first stop id where it ends by itself.
    pub text: String,
    /// How it ends.
    pub finish: Finish,
}

impl Script {
    /// A text that ends by itself.
    #[must_use]
    pub fn stop(text: impl Into<String>) -> Self {
        Self { text: text.into(), finish: Finish::Stop }
    }
}

/// A sampler that writes what a function says, for any policy.
///
/// Every token is given the log-probability `-1/8` and `-1/4` under the raw model.
pub struct ScriptedSampler<C, F> {
    codec: C,
    script: F,
}

impl<C: TextCodec, F: FnMut(&Prompt, u64, u64) -> Script> ScriptedSampler<C, F> {
    /// `script` gets the prompt, the step and the number of the sample.
    pub fn new(codec: C, script: F) -> Self {
        Self { codec, script }
    }
}

impl<P: ?Sized, C: TextCodec, F: FnMut(&Prompt, u64, u64) -> Script> Sampler<P>
    for ScriptedSampler<C, F>
{
    fn sample(
        &mut self,
        _policy: &P,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError> {
        request.validate()?;
        let mut groups = Vec::with_capacity(request.prompts.len());
        for prompt in request.prompts {
            if observer.should_stop() {
                return Err(SampleError::Interrupted);
            }
            let mut group = Vec::with_capacity(request.samples_per_prompt);
            for sample in 0..request.samples_per_prompt as u64 {
                let script = (self.script)(prompt, request.step, request.first_sample + sample);
                let mut ids = self.codec.encode(&script.text);
                if script.finish == Finish::Stop {
                    ids.extend(request.params.stop_ids.first());
                }
                if ids.is_empty() {
                    return Err(SampleError::EmptyScript { id: prompt.id.clone() });
                }
                observer.on_progress(ids.len(), 1);
                group.push(Completion {
                    log_probs: vec![-0.125; ids.len()],
                    raw_log_probs: vec![-0.25; ids.len()],
                    ids,
                    text: script.text,
                    finish: script.finish,
                    weights_version: request.weights_version,
                    version_spans: Vec::new(),
                    timings: Timings::default(),
                });
            }
            groups.push(group);
        }
        Ok(groups)
    }
}
