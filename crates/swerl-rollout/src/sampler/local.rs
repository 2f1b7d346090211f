//! Sampling from a [`CausalLm`] in this process.
//!
//! Prompts are computed once and shared by their samples. Prompts of similar length go together,
//! longest first (so that a run that will not fit in memory fails at once), as many as the limits
//! allow; a prompt whose own samples pass the limits is decoded in several rounds from one
//! prefill. All sequences of a round advance token by token; a prompt leaves when its last sample
//! has ended.
//!
//! A token's noise depends on its counters alone, so batching changes completions only where
//! float rounding meets a near-tie. Each draw runs on the host, in parallel over the rows.

mod rounds;

use std::ops::Range;
use std::time::Instant;

use burn::module::Module;
use burn::tensor::Tensor;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swerl_grpo::{Finish, PolicyError};
use swerl_model::{CausalLm, PromptCache};

use crate::codec::TextCodec;
use crate::completion::{Completion, Timings};
use crate::error::SampleError;
use crate::observer::RolloutObserver;
use crate::prompt::Prompt;
use crate::sampler::{SampleRequest, Sampler};
use crate::sampling::{Draw, draw_allowed};
use crate::stopping::{StopStrings, spoken_text};
use rounds::rounds;

/// How much is decoded at once. A prompt with one sample runs whatever the limits say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalLimits {
    /// Most sequences at once; at least 1.
    pub max_rows: usize,
    /// Most tokens held in the key/value cache at once: each prompt as long as the longest of its
    /// round, plus `max_new_tokens` for each sequence. In bytes that is times
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
        let mut groups: Vec<Vec<Completion>> = vec![Vec::new(); request.prompts.len()];
        for round in rounds(request, self.limits) {
            let ids: Vec<Vec<u32>> =
                round.prompts.iter().map(|&prompt| request.prompts[prompt].ids.clone()).collect();
            let start = Instant::now();
            let (cache, logits) = model.prefill(&ids);
            let logits = Logits::read(logits)?;
            let prefill_s = start.elapsed().as_secs_f64();
            for samples in round.samples {
                let mut decoding = Decoding::new(&self.codec, request, &round.prompts, samples);
                decoding.run(&model, &cache, &logits, observer)?;
                for (prompt, group) in round.prompts.iter().zip(decoding.groups()) {
                    groups[*prompt].extend(
                        group.iter().map(|slot| slot.complete(&self.codec, request, prefill_s)),
                    );
                }
            }
        }
        Ok(groups)
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
    decode_s: f64,
}

impl Slot {
    fn complete(
        &self,
        codec: &impl TextCodec,
        request: &SampleRequest<'_>,
        prefill_s: f64,
    ) -> Completion {
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
            timings: Timings { prefill_s, decode_s: self.decode_s },
        }
    }
}

/// The sequences of one round, prompt-major.
struct Decoding<'a, C> {
    request: &'a SampleRequest<'a>,
    stops: StopStrings<'a, C>,
    samples: usize,
    slots: Vec<Slot>,
    /// Which of the round's prompts still have rows, in the order of the rows.
    active: Vec<usize>,
}

impl<'a, C: TextCodec> Decoding<'a, C> {
    fn new(
        codec: &'a C,
        request: &'a SampleRequest<'a>,
        prompts: &[usize],
        samples: Range<usize>,
    ) -> Self {
        let slot = |prompt, sample| Slot {
            prompt,
            sample,
            draws: Vec::new(),
            finish: None,
            decode_s: 0.0,
        };
        let slots = prompts
            .iter()
            .flat_map(|&prompt| samples.clone().map(move |sample| slot(prompt, sample)))
            .collect();
        let stops = StopStrings::new(codec, request.params);
        Self { request, stops, samples: samples.len(), slots, active: (0..prompts.len()).collect() }
    }

    fn groups(&self) -> impl Iterator<Item = &[Slot]> {
        self.slots.chunks(self.samples)
    }

    fn run(
        &mut self,
        model: &CausalLm,
        prompts: &PromptCache,
        first: &Logits,
        observer: &mut dyn RolloutObserver,
    ) -> Result<(), SampleError> {
        let start = Instant::now();
        let max_new = self.request.params.max_new_tokens;
        let samples = self.samples;
        let mut cache = prompts.fork(samples, max_new);
        self.advance(&|row| first.row(row / samples), start, observer)?;
        while let Some(keep) = self.still_active() {
            if observer.should_stop() {
                return Err(SampleError::Interrupted);
            }
            if keep.contains(&false) {
                cache.retain_prompts(&keep);
            }
            let logits = Logits::read(model.step(&mut cache, &self.last_tokens()))?;
            self.advance(&|row| logits.row(row), start, observer)?;
        }
        Ok(())
    }

    /// Draws the next token of every running sequence; `logits` gives the logits of a row.
    fn advance<'l>(
        &mut self,
        logits: &(dyn Fn(usize) -> &'l [f32] + Sync),
        start: Instant,
        observer: &mut dyn RolloutObserver,
    ) -> Result<(), SampleError> {
        let (request, samples) = (self.request, self.samples);
        let slots = &self.slots;
        let running: Vec<(usize, usize)> =
            self.rows().enumerate().filter(|&(_, slot)| slots[slot].finish.is_none()).collect();
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
        debug_assert!(running.len() <= self.active.len() * samples, "one draw per row at most");
        let elapsed = start.elapsed().as_secs_f64();
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
                slot.decode_s = elapsed;
                ended += 1;
            }
        }
        observer.on_progress(draws.len(), ended);
        Ok(())
    }

    /// The slot of each row, in order.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let samples = self.samples;
        self.active.iter().flat_map(move |prompt| prompt * samples..(prompt + 1) * samples)
    }

    /// Which of the active prompts still have a running sample, dropping the others; `None` when
    /// nothing runs any more.
    fn still_active(&mut self) -> Option<Vec<bool>> {
        let runs = |prompt: &usize| {
            let slots = &self.slots[prompt * self.samples..(prompt + 1) * self.samples];
            slots.iter().any(|slot| slot.finish.is_none())
        };
        let keep: Vec<bool> = self.active.iter().map(runs).collect();
        let mut kept = keep.iter().copied();
        self.active.retain(|_| kept.next().unwrap_or(false));
        keep.contains(&true).then_some(keep)
    }

    /// What each row is fed: its last token. Those that have ended repeat theirs, unread.
    fn last_tokens(&self) -> Vec<u32> {
        let last = |slot: usize| self.slots[slot].draws.last().map_or(0, |draw| draw.token);
        self.rows().map(last).collect()
    }
}
