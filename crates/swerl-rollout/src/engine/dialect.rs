//! What each engine is asked and what it answers, as pure functions of JSON.
//!
//! A request asks for one completion of one prompt: a completion that was lost is asked for again
//! alone, with the same seed, and none can be counted twice.

mod open_ai;
mod sglang;
mod vllm;

pub(crate) use sglang::ADAPTER;

use serde_json::{Map, Value, json};
use swerl_grpo::Finish;

use super::http::Failure;
use crate::completion::VersionSpan;
use crate::prompt::Prompt;
use crate::sampling::SamplingParams;

/// The form of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `POST /inference/v1/generate`.
    VllmGenerate,
    /// `POST /v1/completions` with token ids in and out.
    VllmCompletions,
    /// `POST /generate`.
    Sglang,
    /// `POST /v1/chat/completions` for prompts with turns, else `/v1/completions`.
    OpenAi,
}

/// One completion to ask for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) model: &'a str,
    pub(crate) prompt: &'a Prompt,
    pub(crate) params: &'a SamplingParams,
    /// Below 2^63.
    pub(crate) seed: u64,
}

/// One completion as the engine told it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) ids: Vec<u32>,
    pub(crate) log_probs: Vec<f32>,
    pub(crate) finish: Finish,
    /// Empty where the engine does not say.
    pub(crate) spans: Vec<Span>,
    /// The text, from engines that give no ids.
    pub(crate) text: Option<String>,
}

/// Tokens of one version; `None` where its name is not a number, as before any weights were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) version: Option<u64>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn known(self, unknown: u64) -> VersionSpan {
        let version = self.version.unwrap_or(unknown);
        VersionSpan { version, start: self.start, end: self.end }
    }
}

impl Dialect {
    /// The route and the body of a request.
    pub(crate) fn request(self, ask: &Ask<'_>) -> (&'static str, Value) {
        match self {
            Self::VllmGenerate => vllm::generate(ask),
            Self::VllmCompletions => vllm::completions(ask),
            Self::Sglang => sglang::generate(ask),
            Self::OpenAi => open_ai::request(ask),
        }
    }

    /// What the answer says.
    pub(crate) fn read(self, answer: &Value) -> Result<Answer, Failure> {
        match self {
            Self::VllmGenerate => vllm::read_generate(answer),
            Self::VllmCompletions => vllm::read_completions(answer),
            Self::Sglang => sglang::read(answer),
            Self::OpenAi => open_ai::read(answer),
        }
    }

    /// The route and body that ask for the log-probs of `ids` under the model itself.
    pub(crate) fn score_request(self, model: &str, ids: &[u32]) -> Option<(&'static str, Value)> {
        match self {
            Self::VllmGenerate | Self::VllmCompletions => Some(vllm::score(model, ids)),
            Self::Sglang => Some(sglang::score(model, ids)),
            Self::OpenAi => None,
        }
    }

    /// Natural log-probs of `ids[1..]`, each given those before it.
    pub(crate) fn read_scores(self, answer: &Value, ids: &[u32]) -> Result<Vec<f32>, Failure> {
        let scores = match self {
            Self::VllmGenerate | Self::VllmCompletions => vllm::read_scores(answer, ids)?,
            Self::Sglang => sglang::read_scores(answer, ids)?,
            Self::OpenAi => return Err(Failure::answer("it scores no texts")),
        };
        match scores.iter().position(|score| !(score.is_finite() && *score <= SLACK)) {
            Some(at) => Err(Failure::answer(format!("token {} scores {}", at + 1, scores[at]))),
            None => Ok(scores),
        }
    }
}

/// How far above 0 rounding may bring a log-prob.
pub(crate) const SLACK: f32 = 1e-4;

/// Sampling parameters by the names that vLLM and its like share.
fn shared_params(params: &SamplingParams, seed: u64) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("n".into(), json!(1));
    map.insert("max_tokens".into(), json!(params.max_new_tokens));
    map.insert("temperature".into(), json!(params.temperature));
    map.insert("top_p".into(), json!(params.top_p));
    map.insert("seed".into(), json!(seed));
    map
}

/// Those that go beyond OpenAI's, where they ask for something.
fn more_params(params: &SamplingParams, map: &mut Map<String, Value>) {
    map.insert("stop_token_ids".into(), json!(params.stop_ids));
    // The model's own end tokens would end completions that the request does not end.
    map.insert("ignore_eos".into(), json!(true));
    if params.top_k > 0 {
        map.insert("top_k".into(), json!(params.top_k));
    }
    if params.min_p > 0.0 {
        map.insert("min_p".into(), json!(params.min_p));
    }
    if params.min_new_tokens > 0 {
        map.insert("min_tokens".into(), json!(params.min_new_tokens));
    }
    if !params.stop_strings.is_empty() {
        map.insert("stop".into(), json!(params.stop_strings));
        map.insert("include_stop_str_in_output".into(), json!(true));
    }
}

/// `object[key]`, or what is missing.
fn field<'v>(object: &'v Value, key: &'static str) -> Result<&'v Value, Failure> {
    object.get(key).filter(|value| !value.is_null()).ok_or_else(|| missing(key))
}

fn missing(key: &str) -> Failure {
    Failure::answer(format!("{key} is missing"))
}

fn array<'v>(object: &'v Value, key: &'static str) -> Result<&'v [Value], Failure> {
    field(object, key)?.as_array().map(Vec::as_slice).ok_or_else(|| missing(key))
}

/// The only element of an answer's list of completions.
fn only<'v>(answer: &'v Value, key: &'static str) -> Result<&'v Value, Failure> {
    match array(answer, key)? {
        [one] => Ok(one),
        many => Err(Failure::answer(format!("{} {key} for one completion", many.len()))),
    }
}

fn token(value: &Value) -> Result<u32, Failure> {
    let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| Failure::answer(format!("{value} is no token id")))
}

fn tokens(values: &[Value]) -> Result<Vec<u32>, Failure> {
    values.iter().map(token).collect()
}

#[allow(clippy::cast_possible_truncation)] // Log-probabilities are stored as f32 by design.
fn log_prob(value: &Value) -> Result<f32, Failure> {
    let number = value.as_f64().map(|value| value as f32);
    number.ok_or_else(|| Failure::answer(format!("{value} is no log-prob")))
}

fn finish(value: &Value) -> Result<Finish, Failure> {
    match value.as_str() {
        Some("stop") => Ok(Finish::Stop),
        Some("length") => Ok(Finish::Length),
        Some("abort") => Ok(Finish::Abort),
        _ => Err(Failure::answer(format!("{value} is no reason to finish"))),
    }
}

/// A version's number, written as a number or a string.
fn version(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
