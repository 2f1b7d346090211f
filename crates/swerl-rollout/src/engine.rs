//! Sampling from an inference engine over HTTP: vLLM, SGLang, or for evaluation any server with
//! OpenAI's routes.
//!
//! [`EngineSampler::connect`] looks at every engine before anything is sampled: it is reachable,
//! serves the model by its name, splits text into the same token ids, and returns log-probs of the
//! distribution that is sampled from. Each request asks for one completion with a seed of its own, so
//! a lost one is asked for again alone; none is lost and none counted twice. Answers are checked
//! token by token before they become completions.
//!
//! Which seed gives which tokens is the engine's affair: seeds are functions of the request's
//! counters, but an engine batches as it likes, so two runs agree only up to near-ties.
//!
//! [`SyncedEngine`] loads the policy's weights into the engines whenever they change, and compares the
//! log-probs of a probe afterwards.

mod answers;
mod dialect;
mod error;
mod http;
mod link;
mod pool;
mod preflight;
mod retry;
mod settings;
mod sync;
mod synced;

pub use error::EngineError;
pub use http::Failure;
pub use preflight::{EngineInfo, LogProbMode};
pub use settings::{EngineKind, EngineSettings};
pub use sync::{Probe, WeightUpdate};
#[cfg(feature = "local")]
pub use synced::ModelFolders;
pub use synced::{EngineWeights, SyncedEngine};

use std::time::{Duration, Instant};

use crate::codec::TextCodec;
use crate::completion::{Completion, Timings};
use crate::error::SampleError;
use crate::noise::Stream;
use crate::observer::RolloutObserver;
use crate::sampler::{SampleRequest, Sampler};
use crate::sampling::SamplingParams;
use answers::Expected;
use dialect::{Ask, Dialect};
use link::Link;
use pool::Work;
use retry::Halt;

/// A [`Sampler`] over engines, for any policy: the weights are those that the engines hold.
#[derive(Debug)]
pub struct EngineSampler<C> {
    link: Link,
    codec: C,
    vocabulary: usize,
    info: EngineInfo,
    /// The name that requests give the model: its own, or that of an adapter.
    model: String,
    /// The version last loaded through this sampler.
    loaded: Option<u64>,
}

impl<C: TextCodec> EngineSampler<C> {
    /// Connects, and checks every engine. `vocabulary` is the number of tokens of the policy's model,
    /// `key` the bearer token that the engines ask for, if they do. Waits up to `down_s` for engines
    /// that are still starting.
    ///
    /// # Errors
    /// [`EngineError::Refused`] names what is wrong with an engine and what to do about it.
    pub fn connect(
        settings: EngineSettings,
        codec: C,
        vocabulary: usize,
        key: Option<String>,
    ) -> Result<Self, EngineError> {
        settings.validate()?;
        let model = settings.model.clone();
        let link = Link::new(settings, key);
        let info = preflight::check(&link, &codec)?;
        Ok(Self { link, codec, vocabulary, info, model, loaded: None })
    }

    /// What was found out about the engines.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// The version of the weights last loaded through this sampler, if any were.
    pub fn loaded(&self) -> Option<u64> {
        self.loaded
    }

    /// Natural log-probs of `ids[1..]` under the weights that the engines hold (temperature 1).
    ///
    /// # Errors
    /// [`EngineError`]; servers of the kind [`EngineKind::OpenAi`] cannot score.
    pub fn score(&self, ids: &[u32]) -> Result<Vec<f32>, EngineError> {
        self.link.at(&Halt::default(), "scoring", 0, |url| self.score_at(url, ids))
    }

    fn score_at(&self, url: &str, ids: &[u32]) -> Result<Vec<f32>, (&'static str, Failure)> {
        preflight::score(&self.link, url, self.info.dialect, &self.model, ids)
    }

    /// Continues prompts, as [`Sampler::sample`] does.
    pub(crate) fn groups(
        &mut self,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError> {
        request.validate()?;
        self.fits(request)?;
        let samples = request.samples_per_prompt;
        if samples == 0 {
            return Ok(vec![Vec::new(); request.prompts.len()]);
        }
        let halt = Halt::default();
        let settings = self.link.settings();
        let work = Work {
            jobs: request.prompts.len() * samples,
            workers: settings.max_in_flight,
            stall: Duration::from_secs_f64(settings.stall_s),
            deadline: Duration::from_secs_f64(settings.deadline_s),
            run: &|job| self.one(request, job / samples, job % samples, &halt),
            name: &|job| request.prompts[job / samples].id.clone(),
            tokens: |completion: &Completion| completion.ids.len(),
            interrupt: &|| self.link.interrupt(),
            last_failure: &|| self.link.last_failure(),
        };
        let result = work.results(&halt, observer);
        if result.is_err() {
            // The connections were broken off with the requests on them.
            self.link.reconnect();
        }
        let mut completions = result?.into_iter();
        Ok((0..request.prompts.len())
            .map(|_| completions.by_ref().take(samples).collect())
            .collect())
    }

    /// One completion, at whatever attempt.
    fn one(
        &self,
        request: &SampleRequest<'_>,
        prompt: usize,
        sample: usize,
        halt: &Halt,
    ) -> Result<Completion, EngineError> {
        let noise = request.noise(prompt, sample);
        let source = &request.prompts[prompt];
        let ask = Ask {
            model: &self.model,
            prompt: source,
            params: request.params,
            seed: noise.bits(0) >> 1,
        };
        let (route, body) = self.info.dialect.request(&ask);
        let what = format!("{}, sample {}", source.id, noise.sample);
        let start = Instant::now();
        let mut completion = self.link.at(halt, &what, noise.prompt, |url| {
            let answer = self.link.post(url, route, &body)?;
            let answer = self.info.dialect.read(&answer).map_err(|failure| (route, failure))?;
            let expected = Expected {
                codec: &self.codec,
                params: request.params,
                vocabulary: self.vocabulary,
                unnamed: 0,
                unsaid: self.loaded.unwrap_or(0),
            };
            expected.completion(answer).map_err(|failure| (route, failure))
        })?;
        if completion.raw_log_probs.is_empty() {
            let ids: Vec<u32> = source.ids.iter().chain(&completion.ids).copied().collect();
            let what = format!("{what}: the model's own log-probs");
            let scores = self.link.at(halt, &what, noise.prompt, |url| self.score_at(url, &ids))?;
            completion.raw_log_probs = scores[source.ids.len() - 1..].to_vec();
        }
        completion.timings = Timings { prefill_s: 0.0, decode_s: start.elapsed().as_secs_f64() };
        self.fresh(request, &completion, &source.id, noise.sample)?;
        Ok(completion)
    }

    /// Checks the age of the weights behind a training completion.
    fn fresh(
        &self,
        request: &SampleRequest<'_>,
        completion: &Completion,
        id: &str,
        sample: u64,
    ) -> Result<(), EngineError> {
        let allowed = self.link.settings().max_staleness;
        let (found, current) = (completion.weights_version, request.weights_version);
        if request.stream == Stream::Tokens && found.saturating_add(allowed) < current {
            return Err(EngineError::Stale { id: id.to_owned(), sample, found, current, allowed });
        }
        Ok(())
    }

    /// Whether the engines can give what is asked for.
    fn fits(&self, request: &SampleRequest<'_>) -> Result<(), SampleError> {
        let params = request.params;
        if let Some(context) = self.info.context {
            for prompt in request.prompts {
                let prompt_tokens = prompt.ids.len();
                let max_new_tokens = params.max_new_tokens;
                if prompt_tokens + max_new_tokens > context {
                    let id = prompt.id.clone();
                    return Err(SampleError::Context {
                        id,
                        prompt_tokens,
                        max_new_tokens,
                        context,
                    });
                }
            }
        }
        let refused = |problem: &str, remedy: &str| {
            Err(SampleError::from(EngineError::Refused {
                url: self.link.settings().urls[0].clone(),
                problem: problem.to_owned(),
                remedy: remedy.to_owned(),
            }))
        };
        if self.info.dialect == Dialect::OpenAi {
            if request.stream == Stream::Tokens {
                return refused(
                    "this kind of server gives no token ids and no log-probs to train on",
                    "train with vLLM or SGLang, and evaluate with this one",
                );
            }
            if params.top_k > 0 || params.min_p > 0.0 || params.min_new_tokens > 0 {
                return refused(
                    "this kind of server knows neither top_k nor min_p nor min_new_tokens",
                    "set them to 0",
                );
            }
        } else if needs_processed(params) && self.info.log_probs == LogProbMode::Raw {
            return refused(
                "its log-probs are the model's own, not those after temperature and truncation",
                self.info.processed_remedy(),
            );
        }
        Ok(())
    }
}

/// Whether the log-probs of the sampled distribution are others than the model's own.
fn needs_processed(params: &SamplingParams) -> bool {
    !params.is_plain() && params.temperature > 0.0
}

impl<P: ?Sized, C: TextCodec> Sampler<P> for EngineSampler<C> {
    fn sample(
        &mut self,
        _policy: &P,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError> {
        self.groups(request, observer)
    }
}
