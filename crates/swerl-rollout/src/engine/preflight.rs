//! What is looked at before an engine is used. A wrong log-prob is worse than none: nothing fails,
//! the policy just learns something else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dialect::{Ask, Dialect};
use super::error::EngineError;
use super::http::Failure;
use super::link::{Exchanged, Link};
use super::settings::EngineKind;
use crate::codec::TextCodec;
use crate::prompt::Prompt;
use crate::sampling::SamplingParams;

/// Text with which tokenizers are compared: code, blanks, digits, other scripts.
const PROBE: &str =
    "def total(values):\n    return sum(v for v in values)  # \u{e9}\u{4e2d} 12345\n";
/// Tokens sampled to tell the modes of log-probs apart, and at which temperature.
const PROBE_TOKENS: usize = 16;
const PROBE_TEMPERATURE: f64 = 2.0;
/// Log-probs closer than this are the same.
const SAME: f32 = 5e-3;

/// Which distribution an engine's log-probs belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogProbMode {
    /// The model's own, whatever the temperature.
    Raw,
    /// The one sampled from: after temperature and truncation.
    Processed,
    /// The engine gives none.
    Absent,
}

/// What was found out about the engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    pub(crate) dialect: Dialect,
    kind: EngineKind,
    /// Which log-probs they give.
    pub log_probs: LogProbMode,
    /// Most tokens of prompt and completion together, the least over the engines, where they say.
    pub context: Option<usize>,
    /// Whether the engines were seen to split text into the same ids.
    pub same_tokenizer: bool,
    /// Whether the engines' answers name the versions of their weights token by token.
    pub names_versions: bool,
}

impl EngineInfo {
    /// What to do when log-probs of the sampled distribution are needed.
    pub(crate) fn processed_remedy(&self) -> &'static str {
        match self.kind {
            EngineKind::Sglang => {
                "start SGLang without SGLANG_RETURN_ORIGINAL_LOGPROB, or sample at temperature 1 \
                 with nothing cut"
            }
            _ => {
                "start vLLM with --logprobs-mode processed_logprobs, or sample at temperature 1 \
                 with nothing cut"
            }
        }
    }
}

/// Looks at every engine.
pub(crate) fn check(link: &Link, codec: &impl TextCodec) -> Result<EngineInfo, EngineError> {
    let settings = link.settings();
    let mut info: Option<EngineInfo> = None;
    let mut urls: Vec<String> = settings.engines().map(str::to_owned).collect();
    urls.extend(settings.router.iter().map(|_| settings.data_url(0, 0).to_owned()));
    for (index, url) in urls.iter().enumerate() {
        wait_until_up(link, url)?;
        let is_router = index >= settings.urls.len();
        let context = serves_model(link, url)?;
        if is_router {
            continue;
        }
        let mut found = look(link, url, codec)?;
        found.context = context;
        if let Some(first) = &info {
            if (first.dialect, first.log_probs) != (found.dialect, found.log_probs) {
                return Err(refused(
                    url,
                    "it answers in another form than the first engine",
                    "start all engines with the same flags",
                ));
            }
            found.context = [first.context, found.context].into_iter().flatten().min();
            found.same_tokenizer &= first.same_tokenizer;
            found.names_versions &= first.names_versions;
        }
        info = Some(found);
    }
    info.ok_or_else(|| refused("", "there is no engine", "name its URL"))
}

fn refused(url: &str, problem: impl Into<String>, remedy: impl Into<String>) -> EngineError {
    EngineError::Refused { url: url.to_owned(), problem: problem.into(), remedy: remedy.into() }
}

/// Waits for a server that is being started.
fn wait_until_up(link: &Link, url: &str) -> Result<(), EngineError> {
    let settings = link.settings();
    let route = match settings.kind {
        EngineKind::OpenAi => "/v1/models",
        EngineKind::Vllm | EngineKind::Sglang => "/health",
    };
    let (start, most) = (Instant::now(), Duration::from_secs_f64(settings.down_s));
    let mut tries = 0;
    loop {
        let (route, failure) = match link.is_up(url, route) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        tries += 1;
        // A router need not have the route; that it answers is enough.
        if failure.is_unknown_route() {
            return Ok(());
        }
        if !failure.is_transient() || start.elapsed() >= most {
            return Err(EngineError::Request {
                url: url.to_owned(),
                route: route.to_owned(),
                what: "looking whether the engine is up".to_owned(),
                attempts: tries,
                source: failure,
            });
        }
        std::thread::sleep(Duration::from_secs_f64(settings.backoff_s.clamp(0.01, 2.0)));
    }
}

/// Checks the model's name, and returns the context length.
fn serves_model(link: &Link, url: &str) -> Result<Option<usize>, EngineError> {
    let model = &link.settings().model;
    let answer = link.with(url, "listing the models", |url| link.get(url, "/v1/models"))?;
    let models = answer.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |entry: &Value| entry.get("id").and_then(Value::as_str).map(str::to_owned);
    match models.iter().find(|entry| name(entry).as_ref() == Some(model)) {
        Some(entry) => {
            let context = entry.get("max_model_len").and_then(Value::as_u64);
            Ok(context.and_then(|tokens| usize::try_from(tokens).ok()))
        }
        None => {
            let names: Vec<String> = models.iter().filter_map(name).collect();
            Err(refused(
                url,
                format!("it serves {}, not {model}", names.join(", ")),
                "set model to that name, or start it with --served-model-name",
            ))
        }
    }
}

/// Finds out in which form an engine answers, and what its log-probs are.
fn look(link: &Link, url: &str, codec: &impl TextCodec) -> Result<EngineInfo, EngineError> {
    let kind = link.settings().kind;
    let info = |dialect, log_probs| EngineInfo {
        dialect,
        kind,
        log_probs,
        context: None,
        same_tokenizer: false,
        names_versions: false,
    };
    if kind == EngineKind::OpenAi {
        return Ok(info(Dialect::OpenAi, LogProbMode::Absent));
    }
    let same_tokenizer = same_tokenizer(link, url, codec)?;
    let ids = codec.encode(PROBE);
    let dialects: &[Dialect] = match kind {
        EngineKind::Sglang => &[Dialect::Sglang],
        _ => &[Dialect::VllmGenerate, Dialect::VllmCompletions],
    };
    for (index, &dialect) in dialects.iter().enumerate() {
        match probe(link, url, dialect, &ids) {
            Err(EngineError::Request { source, .. })
                if source.is_unknown_route() && index + 1 < dialects.len() => {}
            Err(EngineError::Request { source, .. }) if source.is_unknown_route() => {
                return Err(refused(
                    url,
                    "it has no route that takes and gives token ids",
                    "start vLLM with --enable-scale-out, or set kind to the program that runs there",
                ));
            }
            Err(error) => return Err(error),
            Ok((log_probs, names_versions)) => {
                return Ok(EngineInfo {
                    same_tokenizer,
                    names_versions,
                    ..info(dialect, log_probs)
                });
            }
        }
    }
    Err(refused(url, "it answers in no known form", "set kind to the program that runs there"))
}

/// Whether the engine splits the probe into our ids; an error where it splits it into others, and
/// `false` where it cannot be asked.
fn same_tokenizer(link: &Link, url: &str, codec: &impl TextCodec) -> Result<bool, EngineError> {
    let body = json!({
        "model": link.settings().model, "prompt": PROBE, "add_special_tokens": false,
    });
    let answer = link.with(url, "comparing tokenizers", |url| link.post(url, "/tokenize", &body));
    let answer = match answer {
        Ok(answer) => answer,
        Err(EngineError::Request { source, .. }) if source.is_unknown_route() => return Ok(false),
        Err(error) => return Err(error),
    };
    let ours = codec.encode(PROBE);
    let theirs = answer.get("tokens").cloned().unwrap_or(Value::Null);
    if theirs != json!(ours) {
        return Err(refused(
            url,
            format!("it splits the probe text into {theirs}, the policy's tokenizer into {ours:?}"),
            "serve the folder of the policy's own model and tokenizer",
        ));
    }
    Ok(true)
}

/// Samples a few tokens at a high temperature, and scores them under the model itself.
fn probe(
    link: &Link,
    url: &str,
    dialect: Dialect,
    ids: &[u32],
) -> Result<(LogProbMode, bool), EngineError> {
    let model = &link.settings().model;
    let prompt = Prompt {
        id: "probe".to_owned(),
        text: PROBE.to_owned(),
        ids: ids.to_vec(),
        messages: Vec::new(),
        files: Vec::new(),
        skipped: Vec::new(),
        over_budget: false,
    };
    let params = SamplingParams {
        temperature: PROBE_TEMPERATURE,
        ..SamplingParams::plain(PROBE_TOKENS, &[])
    };
    let ask = Ask { model, prompt: &prompt, params: &params, seed: 1 };
    let (route, body) = dialect.request(&ask);
    let answer = link.with(url, "a probe", |url| {
        dialect.read(&link.post(url, route, &body)?).map_err(|failure| (route, failure))
    })?;
    if answer.ids.len() != answer.log_probs.len() || answer.ids.is_empty() {
        return Err(refused(
            url,
            format!("{} log-probs for {} tokens", answer.log_probs.len(), answer.ids.len()),
            "use a version of the engine that returns the log-prob of every sampled token",
        ));
    }
    let whole: Vec<u32> = ids.iter().chain(&answer.ids).copied().collect();
    let scores =
        link.with(url, "scoring the probe", |url| score(link, url, dialect, model, &whole))?;
    let raw = &scores[ids.len() - 1..];
    let same = raw.iter().zip(&answer.log_probs).all(|(a, b)| (a - b).abs() < SAME);
    let mode = if same { LogProbMode::Raw } else { LogProbMode::Processed };
    Ok((mode, !answer.spans.is_empty()))
}

/// Natural log-probs of `ids[1..]` under the model itself.
pub(crate) fn score(
    link: &Link,
    url: &str,
    dialect: Dialect,
    model: &str,
    ids: &[u32],
) -> Exchanged<Vec<f32>> {
    let Some((route, body)) = dialect.score_request(model, ids) else {
        return Err(("", Failure::answer("this kind of server scores no texts")));
    };
    if ids.len() < 2 {
        return Ok(Vec::new());
    }
    dialect.read_scores(&link.post(url, route, &body)?, ids).map_err(|failure| (route, failure))
}
