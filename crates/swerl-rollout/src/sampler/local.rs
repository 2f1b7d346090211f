//! Sampling from a [`CausalLm`] in this process.
//!
//! Prompts are computed once and shared by their samples; those of similar length go together,
//! longest first, as many as the limits allow. All running sequences advance token by token. On the
//! CPU one that has ended leaves and the next prompts start beside the others (continuous
//! batching); elsewhere a prompt leaves with its last sample and the next start when all have left.
//!
//! A token's noise depends on its counters alone, so batching changes completions only where
//! float rounding meets a near-tie. Each draw runs on the host, in parallel over the rows.

mod queue;

use std::time::Instant;

use burn::module::Module;
use burn::tensor::Tensor;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swerl_grpo::{Finish, PolicyError};
use swerl_model::{CausalLm, DecodeCache, PromptCache};

use crate::codec::TextCodec;
use crate::completion::{Completion, Timings};
use crate::error::SampleError;
use crate::observer::RolloutObserver;
use crate::prompt::Prompt;
use crate::sampler::{SampleRequest, Sampler};
use crate::sampling::{Draw, draw_allowed};
use crate::stopping::{StopStrings, spoken_text};
use queue::{Queue, Wave};

/// How much is decoded at once. A prompt with one sample runs whatever the limits say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalLimits {
    /// Most sequences at once; at least 1.
    pub max_rows: usize,
    /// Most tokens held in the key/value cache at once: each prompt as long as the longest that
    /// started with it, plus `max_new_tokens` for each sequence. In bytes that is times
    /// `2 * layers * kv_heads * head_dim * 4` (f32). At least 1.
    pub max_tokens: usize,
}

/// A [`Sampler`] over the policy itself. It samples without a graph, so the policy may live on an
/// autodiff device.
#[derive(Debug, Clone)]
pub struct LocalSampler<C> {
    codec: C,
    limits: LocalLimits,
}

impl<C: TextCodec> LocalSampler<C> {
    /// `codec` decodes the completions' texts.
    pub fn new(codec: C, limits: LocalLimits) -> Self {
        Self { codec, limits }
    }
}

impl<C: TextCodec> Sampler<CausalLm> for LocalSampler<C> {
    fn sample(
        &mut self,
        policy: &CausalLm,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError> {
        request.validate()?;
        self.limits.validate()?;
        let config = policy.config();
        for prompt in request.prompts {
            fits(
                prompt,
                request.params.max_new_tokens,
                config.max_position_embeddings,
                config.vocab_size,
            )?;
        }
        let model = policy.valid();
        let mut decoding = Decoding::new(&self.codec, request, self.limits);
        decoding.run(&model, observer)?;
        let complete = |slot: &Slot| slot.complete(&self.codec, request);
        if request.samples_per_prompt == 0 {
            return Ok(vec![Vec::new(); request.prompts.len()]);
        }
        let groups = decoding.slots.chunks(request.samples_per_prompt);
        Ok(groups.map(|group| group.iter().map(complete).collect()).collect())
    }
}

impl LocalLimits {
    fn validate(self) -> Result<(), SampleError> {
        for (field, value) in [("max_rows", self.max_rows), ("max_tokens", self.max_tokens)] {
            if value == 0 {
                return Err(SampleError::Params { field, value: 0.0, range: "at least 1" });
            }
        }
        Ok(())
    }
}

fn fits(
    prompt: &Prompt,
    max_new_tokens: usize,
    context: usize,
    vocabulary: usize,
) -> Result<(), SampleError> {
    let id = || prompt.id.clone();
    if let Some(&token) = prompt.ids.iter().find(|&&token| token as usize >= vocabulary) {
        return Err(SampleError::Vocabulary { id: id(), token, vocabulary });
    }
    let prompt_tokens = prompt.ids.len();
    if prompt_tokens + max_new_tokens > context {
        return Err(SampleError::Context { id: id(), prompt_tokens, max_new_tokens, context });
    }
    Ok(())
}

/// Logits on the host, one row per sequence.
struct Logits {
    values: Vec<f32>,
    vocabulary: usize,
}

impl Logits {
    fn read(tensor: Tensor<2>) -> Result<Self, SampleError> {
        let [_, vocabulary] = tensor.dims();
        let values = tensor
            .try_into_vec_as::<f32>()
            .map_err(|source| PolicyError::Read { what: "logits", source })?;
        Ok(Self { values, vocabulary })
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.vocabulary..(row + 1) * self.vocabulary]
    }
}

/// One sequence in the making.
#[derive(Debug, Clone)]
struct Slot {
    prompt: usize,
    sample: usize,
    draws: Vec<Draw>,
    finish: Option<Finish>,
    started: Instant,
    timings: Timings,
}

impl Slot {
    fn complete(&self, codec: &impl TextCodec, request: &SampleRequest<'_>) -> Completion {
        let ids: Vec<u32> = self.draws.iter().map(|draw| draw.token).collect();
        let finish = self.finish.expect("decoding runs until every slot has ended");
        Completion {
            text: spoken_text(codec, &ids, request.params),
            log_probs: self.draws.iter().map(|draw| draw.log_prob).collect(),
            raw_log_probs: self.draws.iter().map(|draw| draw.raw_log_prob).collect(),
            ids,
            finish,
            weights_version: request.weights_version,
            version_spans: Vec::new(),
            timings: self.timings,
        }
    }
}

/// A prompt of which more samples are to start.
struct Held {
    prompt: usize,
    cache: PromptCache,
    logits: Logits,
    prefill_s: f64,
}

/// The sequences of a request.
struct Decoding<'a, C> {
    request: &'a SampleRequest<'a>,
    stops: StopStrings<'a, C>,
    queue: Queue,
    held: Option<Held>,
    /// Prompt-major.
    slots: Vec<Slot>,
    /// The slot of each row of the running cache.
    rows: Vec<usize>,
}

impl<'a, C: TextCodec> Decoding<'a, C> {
    fn new(codec: &'a C, request: &'a SampleRequest<'a>, limits: LocalLimits) -> Self {
        let started = Instant::now();
        let slot = |prompt, sample| Slot {
            prompt,
            sample,
            draws: Vec::new(),
            finish: None,
            started,
            timings: Timings { prefill_s: 0.0, decode_s: 0.0 },
        };
        let slots = (0..request.prompts.len())
            .flat_map(|prompt| {
                (0..request.samples_per_prompt).map(move |sample| slot(prompt, sample))
            })
            .collect();
        Self {
            request,
            stops: StopStrings::new(codec, request.params),
            queue: Queue::new(request, limits),
            held: None,
            slots,
            rows: Vec::new(),
        }
    }

    fn run(
        &mut self,
        model: &CausalLm,
        observer: &mut dyn RolloutObserver,
    ) -> Result<(), SampleError> {
        let mut running: Option<DecodeCache> = None;
        loop {
            if observer.should_stop() {
                return Err(SampleError::Interrupted);
            }
            while running.as_ref().is_none_or(DecodeCache::appends) {
                let Some(wave) = self.queue.next(self.rows.len(), self.tokens()) else { break };
                let started = self.start(model, &wave, observer)?;
                match &mut running {
                    Some(cache) => cache.append(started),
                    None => running = Some(started),
                }
            }
            let keep: Vec<bool> =
                self.rows.iter().map(|&slot| self.slots[slot].finish.is_none()).collect();
            if !keep.contains(&true) {
                (running, self.rows) = (None, Vec::new());
                if self.queue.is_empty() {
                    return Ok(());
                }
                continue;
            }
            let cache = running.as_mut().expect("rows have a cache");
            if keep.contains(&false) {
                self.rows = cache.retain(&keep).iter().map(|&row| self.rows[row]).collect();
            }
            let logits = Logits::read(model.step(cache, &self.last_tokens()))?;
            self.advance(0, &|row| logits.row(row), observer)?;
        }
    }

    /// Computes the prompts of `wave` and draws the first token of each sample.
    fn start(
        &mut self,
        model: &CausalLm,
        wave: &Wave,
        observer: &mut dyn RolloutObserver,
    ) -> Result<DecodeCache, SampleError> {
        let (samples, all) = (wave.samples.len(), self.request.samples_per_prompt);
        let held = self.held.take().filter(|held| wave.prompts == [held.prompt]);
        let held = match held {
            Some(held) => held,
            None => prefill(model, self.request, &wave.prompts)?,
        };
        let first = self.rows.len();
        let started = Instant::now();
        for &prompt in &wave.prompts {
            for sample in wave.samples.clone() {
                let slot = prompt * all + sample;
                self.slots[slot].started = started;
                self.slots[slot].timings.prefill_s = held.prefill_s;
                self.rows.push(slot);
            }
        }
        let cache = held.cache.fork(samples, self.request.params.max_new_tokens);
        self.advance(first, &|row| held.logits.row((row - first) / samples), observer)?;
        if wave.samples.end < all {
            self.held = Some(held);
        }
        Ok(cache)
    }

    /// Draws the next token of every running sequence from row `first` on; `logits` gives the
    /// logits of a row.
    fn advance<'l>(
        &mut self,
        first: usize,
        logits: &(dyn Fn(usize) -> &'l [f32] + Sync),
        observer: &mut dyn RolloutObserver,
    ) -> Result<(), SampleError> {
        let (request, slots) = (self.request, &self.slots);
        let running: Vec<(usize, usize)> = self
            .rows
            .iter()
            .copied()
            .enumerate()
            .skip(first)
            .filter(|&(_, slot)| slots[slot].finish.is_none())
            .collect();
        let draws: Vec<Draw> = running
            .par_iter()
            .map(|&(row, index)| {
                let slot = &slots[index];
                let position = slot.draws.len();
                let noise = request.noise(slot.prompt, slot.sample).uniform(position as u64);
                let forbidden = request.params.forbidden(position);
                draw_allowed(logits(row), forbidden, request.params, noise).ok_or_else(|| {
                    SampleError::Logits {
                        id: request.prompts[slot.prompt].id.clone(),
                        sample: slot.sample,
                        position,
                    }
                })
            })
            .collect::<Result<_, _>>()?;
        let mut ended = 0;
        for (&(_, index), draw) in running.iter().zip(&draws) {
            let slot = &mut self.slots[index];
            slot.draws.push(*draw);
            let stopped = request.params.stop_ids.contains(&draw.token)
                || self.stops.ends(slot.draws.iter().rev().map(|draw| draw.token));
            slot.finish = if stopped {
                Some(Finish::Stop)
            } else {
                (slot.draws.len() >= request.params.max_new_tokens).then_some(Finish::Length)
            };
            if slot.finish.is_some() {
                slot.timings.decode_s = slot.started.elapsed().as_secs_f64();
                ended += 1;
            }
        }
        observer.on_progress(draws.len(), ended);
        Ok(())
    }

    /// Tokens that the running sequences may come to hold.
    fn tokens(&self) -> usize {
        let mut prompts: Vec<usize> =
            self.rows.iter().map(|&slot| self.slots[slot].prompt).collect();
        prompts.sort_unstable();
        prompts.dedup();
        let held: usize = prompts.iter().map(|&p| self.request.prompts[p].ids.len()).sum();
        held.saturating_add(self.rows.len().saturating_mul(self.request.params.max_new_tokens))
    }

    /// What each row is fed: its last token. Those that have ended repeat theirs, unread.
    fn last_tokens(&self) -> Vec<u32> {
        let last = |&slot: &usize| self.slots[slot].draws.last().map_or(0, |draw| draw.token);
        self.rows.iter().map(last).collect()
    }
}

/// Computes `prompts` of the request.
fn prefill(
    model: &CausalLm,
    request: &SampleRequest<'_>,
    prompts: &[usize],
) -> Result<Held, SampleError> {
    let start = Instant::now();
    let ids: Vec<Vec<u32>> = prompts.iter().map(|&p| request.prompts[p].ids.clone()).collect();
    let (cache, logits) = model.prefill(&ids);
    let logits = Logits::read(logits)?;
    let prefill_s = start.elapsed().as_secs_f64();
    Ok(Held { prompt: prompts[0], cache, logits, prefill_s })
}
