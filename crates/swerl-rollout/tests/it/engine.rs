//! Engines over HTTP, against a small server that answers as real ones do, and misbehaves.

mod contract;
mod hardship;
mod server;
mod toy;
mod weights;

use swerl_rollout::{
    EngineKind, EngineSampler, EngineSettings, Prompt, SampleRequest, SamplingParams, Stream,
};

use crate::support::Bytes;

/// Settings that lose no time.
fn settings(kind: EngineKind, urls: &[&str]) -> EngineSettings {
    EngineSettings {
        max_in_flight: 4,
        request_s: 5.0,
        deadline_s: 20.0,
        connect_s: 2.0,
        attempts: 3,
        backoff_s: 0.01,
        down_s: 0.2,
        stall_s: 10.0,
        ..EngineSettings::new(kind, urls, "m")
    }
}

fn connect(settings: EngineSettings) -> EngineSampler<Bytes> {
    EngineSampler::connect(settings, Bytes, Bytes::VOCABULARY, None).expect("connects")
}

fn prompts(count: usize) -> Vec<Prompt> {
    (0..count)
        .map(|number| {
            let text = format!("prompt {number}");
            Prompt {
                id: format!("p{number}"),
                ids: text.bytes().map(u32::from).collect(),
                text,
                messages: Vec::new(),
                files: Vec::new(),
                skipped: Vec::new(),
                over_budget: false,
            }
        })
        .collect()
}

fn params() -> SamplingParams {
    SamplingParams::plain(6, &[Bytes::EOS])
}

fn request<'a>(prompts: &'a [Prompt], params: &'a SamplingParams) -> SampleRequest<'a> {
    SampleRequest {
        prompts,
        samples_per_prompt: 3,
        params,
        stream: Stream::Tokens,
        seed: 1,
        step: 2,
        first_prompt: 0,
        first_sample: 0,
        weights_version: 0,
    }
}
