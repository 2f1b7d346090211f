//! The local sampler on a tiny random model: schedules, log-probs, ends, errors.

use burn::tensor::Device;
use swerl_grpo::batch::TokenBatch;
use swerl_grpo::{Finish, Group, Policy};
use swerl_model::{CausalLm, ModelConfig};
use swerl_rollout::{
    Completion, LocalLimits, LocalSampler, Prompt, RolloutObserver, SampleError, SampleRequest,
    Sampler, SamplingParams, Stream, TextCodec,
};

use crate::support::Bytes;

const WIDE: LocalLimits = LocalLimits { max_rows: 1000, max_tokens: 1_000_000 };

pub(crate) fn model(device: &Device) -> CausalLm {
    let config = ModelConfig {
        vocab_size: Bytes::VOCABULARY,
        hidden_size: 32,
        intermediate_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 8,
        max_position_embeddings: 128,
        tie_word_embeddings: true,
        qkv_bias: false,
        rope_scaling: None,
        ..ModelConfig::llama_3_3_70b()
    };
    device.seed(11);
    CausalLm::new(&config, device)
}

fn prompts() -> Vec<Prompt> {
    [
        "fix it",
        "a longer prompt than the others",
        "x",
        "y = 2",
        "fix me",
        "the last, of some length",
    ]
    .iter()
    .map(|text| Prompt {
        id: (*text).to_owned(),
        text: (*text).to_owned(),
        ids: Bytes.encode(text),
        messages: Vec::new(),
        files: Vec::new(),
        skipped: Vec::new(),
        over_budget: false,
    })
    .collect()
}

fn request<'a>(prompts: &'a [Prompt], params: &'a SamplingParams) -> SampleRequest<'a> {
    SampleRequest {
        prompts,
        samples_per_prompt: 5,
        params,
        stream: Stream::Tokens,
        seed: 1,
        step: 2,
        first_prompt: 0,
        first_sample: 0,
        weights_version: 9,
    }
}

fn sample(
    model: &CausalLm,
    request: &SampleRequest<'_>,
    limits: LocalLimits,
) -> Vec<Vec<Completion>> {
    LocalSampler::new(Bytes, limits).sample(model, request, &mut ()).expect("samples")
}

/// Stops on a fifth of the vocabulary, so that ends come early and at different times.
fn params() -> SamplingParams {
    let stops: Vec<u32> = (0..257).filter(|id| id % 5 == 1).collect();
    SamplingParams::plain(12, &stops)
}

fn ids(groups: &[Vec<Completion>]) -> Vec<Vec<Vec<u32>>> {
    groups.iter().map(|group| group.iter().map(|c| c.ids.clone()).collect()).collect()
}

#[test]
fn ends_are_kept_and_never_appended() {
    let model = model(&Device::flex());
    let (prompts, params) = (prompts(), params());
    let groups = sample(&model, &request(&prompts, &params), WIDE);
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [5; 6]);
    let (mut stops, mut lengths) = (0, 0);
    for completion in groups.iter().flatten() {
        let (last, before) = completion.ids.split_last().expect("at least one token");
        assert!(before.iter().all(|id| !params.stop_ids.contains(id)));
        assert_eq!(completion.log_probs.len(), completion.ids.len());
        assert_eq!(completion.log_probs, completion.raw_log_probs);
        assert_eq!(completion.weights_version, 9);
        if params.stop_ids.contains(last) {
            stops += 1;
            assert_eq!(completion.finish, Finish::Stop);
            assert_eq!(completion.text, Bytes.decode(before));
        } else {
            lengths += 1;
            assert_eq!((completion.finish, completion.ids.len()), (Finish::Length, 12));
            assert_eq!(completion.text, Bytes.decode(&completion.ids));
        }
    }
    assert!(stops > 15 && lengths > 0, "{stops} {lengths}");
}

#[test]
fn the_same_schedule_gives_the_same_bits() {
    let model = model(&Device::flex());
    let (prompts, params) = (prompts(), params());
    let bits = |groups: Vec<Vec<Completion>>| -> Vec<(Vec<u32>, Vec<u32>)> {
        let of =
            |c: &Completion| (c.ids.clone(), c.log_probs.iter().map(|p| p.to_bits()).collect());
        groups.iter().flatten().map(of).collect()
    };
    let request = request(&prompts, &params);
    assert_eq!(bits(sample(&model, &request, WIDE)), bits(sample(&model, &request, WIDE)));
}

#[test]
fn other_schedules_and_split_requests_give_the_same_tokens() {
    let model = model(&Device::flex());
    let prompts = prompts();
    for params in [params(), SamplingParams { temperature: 0.0, ..params() }] {
        let whole = request(&prompts, &params);
        let expected = ids(&sample(&model, &whole, WIDE));
        for (max_rows, max_tokens) in [(1, 1), (3, 1000), (10, 1000), (12, 300), (1000, 150)] {
            let limits = LocalLimits { max_rows, max_tokens };
            assert_eq!(ids(&sample(&model, &whole, limits)), expected, "{limits:?}");
        }
        let mut split = Vec::new();
        for (first, chunk) in prompts.chunks(4).enumerate() {
            let first_prompt = first as u64 * 4;
            let part = |first_sample, samples_per_prompt| {
                let request = SampleRequest {
                    prompts: chunk,
                    first_prompt,
                    first_sample,
                    samples_per_prompt,
                    ..whole
                };
                ids(&sample(&model, &request, WIDE))
            };
            let (head, tail) = (part(0, 2), part(2, 3));
            split.extend(head.into_iter().zip(tail).map(|(head, tail)| [head, tail].concat()));
        }
        assert_eq!(split, expected);
    }
}

#[test]
fn samples_steps_and_streams_share_no_noise() {
    let model = model(&Device::flex());
    let (prompts, params) = (vec![prompts()[0].clone(); 4], SamplingParams::plain(12, &[]));
    let base = request(&prompts, &params);
    let mut all = Vec::new();
    for request in [
        base,
        SampleRequest { step: 3, ..base },
        SampleRequest { seed: 2, ..base },
        SampleRequest { stream: Stream::Evaluation, ..base },
    ] {
        all.extend(sample(&model, &request, WIDE).into_iter().flatten().map(|c| c.ids));
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "80 samples of 12 near-uniform tokens do not repeat");
}

#[test]
fn log_probs_are_those_of_teacher_forcing() {
    let device = Device::flex().autodiff();
    let model = model(&device);
    let prompts = prompts();
    let params = SamplingParams { temperature: 0.7, ..params() };
    let groups = sample(&model, &request(&prompts, &params), LocalLimits { max_rows: 12, ..WIDE });
    let trained: Vec<Group> = groups
        .iter()
        .zip(&prompts)
        .map(|(group, prompt)| Group {
            prompt_len: prompt.ids.len(),
            sequences: group.iter().map(|c| c.to_sequence(&prompt.ids)).collect(),
            rewards: vec![Some(0.0); group.len()],
            id: prompt.id.clone(),
        })
        .collect();
    for (temperature, raw) in [(0.7, false), (1.0, true)] {
        let batch = TokenBatch::from_groups(&trained, temperature).expect("a batch");
        let (scored, _) = model.score(&batch).expect("scores").to_host().expect("reads");
        let sampled: Vec<f32> = groups
            .iter()
            .flatten()
            .flat_map(|c| if raw { &c.raw_log_probs } else { &c.log_probs })
            .copied()
            .collect();
        assert_eq!(scored.len(), sampled.len());
        let worst = scored.iter().zip(&sampled).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-4, "temperature {temperature}: {worst}");
    }
}

#[test]
fn first_tokens_follow_the_model() {
    // 20,000 first tokens against the softmax of the prefill logits.
    let model = model(&Device::flex());
    let prompts = prompts();
    let params = SamplingParams { temperature: 0.5, ..SamplingParams::plain(1, &[]) };
    let request = SampleRequest { samples_per_prompt: 20_000, ..request(&prompts[..1], &params) };
    let limits = LocalLimits { max_rows: 5000, max_tokens: 1_000_000 };
    let completions = sample(&model, &request, limits).remove(0);
    let (_, logits) = model.prefill(&[prompts[0].ids.clone()]);
    let logits = logits.try_into_vec_as::<f32>().expect("reads");
    let weights: Vec<f64> = logits.iter().map(|l| (f64::from(*l) / 0.5).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut counts = vec![0_u32; weights.len()];
    for completion in &completions {
        counts[completion.ids[0] as usize] += 1;
    }
    let chi: f64 = weights
        .iter()
        .zip(&counts)
        .map(|(weight, count)| {
            let expected = weight / total * 20_000.0;
            (f64::from(*count) - expected).powi(2) / expected
        })
        .sum();
    // 99.9% quantile of chi-square with 256 degrees of freedom.
    assert!(chi < 330.5, "{chi}");
}

#[test]
fn stop_strings_cut_a_completion_where_it_holds_one_and_change_nothing_before() {
    let model = model(&Device::flex());
    let prompts = prompts();
    let free = SamplingParams::plain(16, &[]);
    let stops: Vec<String> = ('0'..='z').map(String::from).collect();
    let stopped = SamplingParams { stop_strings: stops.clone(), ..free.clone() };
    let late = SamplingParams { min_new_tokens: 6, ..stopped.clone() };
    let of = |params| sample(&model, &request(&prompts, params), WIDE);
    let holds = |text: &str| stops.iter().any(|stop| text.contains(stop.as_str()));
    let mut ended = 0;
    for (params, least) in [(&stopped, 1), (&late, 6)] {
        for (free, cut) in of(&free).iter().flatten().zip(of(params).iter().flatten()) {
            let end = (least..=16).find(|&end| holds(&Bytes.decode(&free.ids[end - 1..end])));
            assert_eq!(cut.ids, free.ids[..end.unwrap_or(16)]);
            assert_eq!(cut.log_probs, free.log_probs[..cut.ids.len()]);
            assert_eq!(cut.finish, if end.is_some() { Finish::Stop } else { Finish::Length });
            assert_eq!(cut.text, Bytes.decode(&cut.ids), "a stop string is spoken");
            ended += usize::from(end.is_some());
        }
    }
    assert!(ended > 20, "{ended} of 60");
}

#[test]
fn no_stop_id_is_drawn_before_the_smallest_length() {
    let model = model(&Device::flex());
    let prompts = prompts();
    let params = SamplingParams { min_new_tokens: 5, ..params() };
    let groups = sample(&model, &request(&prompts, &params), WIDE);
    let is_stop = |id: &u32| params.stop_ids.contains(id);
    for completion in groups.iter().flatten() {
        assert!(completion.ids.len() >= 6 && !completion.ids[..5].iter().any(is_stop));
        // A fifth of the vocabulary is cut from the distribution sampled from, not from the model's.
        for (sampled, raw) in completion.log_probs.iter().zip(&completion.raw_log_probs).take(5) {
            assert!(sampled > raw, "{sampled} {raw}");
        }
        assert_eq!(completion.log_probs[5..], completion.raw_log_probs[5..]);
    }
}

#[test]
fn requests_that_do_not_fit_the_model_are_named() {
    let model = model(&Device::flex());
    let long = SamplingParams::plain(100, &[]);
    let short = SamplingParams::plain(2, &[]);
    let mut foreign = prompts();
    foreign[3].ids[1] = 999;
    let mut empty = prompts();
    empty[2].ids.clear();
    let good = prompts();
    for (prompts, params, named) in [
        (&good, &long, "context of 128"),
        (&foreign, &short, "y = 2: token 999"),
        (&empty, &short, "x: the prompt has no tokens"),
    ] {
        let result =
            LocalSampler::new(Bytes, WIDE).sample(&model, &request(prompts, params), &mut ());
        let message = result.expect_err("refused").to_string();
        assert!(message.contains(named), "{message}");
    }
}

#[derive(Default)]
struct Watch {
    tokens: usize,
    finished: usize,
    patience: usize,
}

impl RolloutObserver for Watch {
    fn on_progress(&mut self, tokens: usize, finished: usize) {
        self.tokens += tokens;
        self.finished += finished;
    }

    fn should_stop(&self) -> bool {
        self.tokens > self.patience
    }
}

#[test]
fn progress_adds_up_and_a_wish_to_stop_is_heard_between_tokens() {
    let model = model(&Device::flex());
    let (prompts, params) = (prompts(), params());
    let request = request(&prompts, &params);
    let mut watch = Watch { patience: usize::MAX, ..Watch::default() };
    let mut sampler = LocalSampler::new(Bytes, LocalLimits { max_rows: 10, ..WIDE });
    let groups = sampler.sample(&model, &request, &mut watch).expect("samples");
    let tokens: usize = groups.iter().flatten().map(|c| c.ids.len()).sum();
    assert_eq!((watch.tokens, watch.finished), (tokens, 30));
    let mut watch = Watch { patience: 20, ..Watch::default() };
    let error = sampler.sample(&model, &request, &mut watch).expect_err("interrupted");
    assert!(matches!(error, SampleError::Interrupted) && watch.tokens <= 30);
}
