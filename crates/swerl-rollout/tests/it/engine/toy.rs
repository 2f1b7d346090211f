//! A toy model with the routes of vLLM and SGLang.
//!
//! Its log-prob of token `t` behind `n` tokens is `-(1 + (t + n + shift) mod 7) / 4`, where `shift` comes
//! with its weights; it writes tokens that are a function of prompt and seed, and ends with the first
//! stop id.

use serde_json::{Value, json};

use super::server::{Flags, State};

/// The toy's log-prob of `token` at place `at`.
pub(super) fn log_prob(token: u64, at: usize, shift: u64) -> f32 {
    -f32::from(u8::try_from(1 + (token + at as u64 + shift) % 7).expect("small")) / 4.0
}

fn ids(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// What the toy writes, and the log-probs that it gives for it.
fn write_tokens(prompt: &[u64], params: &Value, flags: Flags, shift: u64) -> (Vec<u64>, Vec<f32>) {
    let seed = params["seed"].as_u64().or_else(|| params["sampling_seed"].as_u64()).unwrap_or(0);
    let most = params["max_tokens"].as_u64().or_else(|| params["max_new_tokens"].as_u64());
    let most = usize::try_from(most.unwrap_or(16)).expect("small");
    let stops = ids(&params["stop_token_ids"]);
    let length = 1 + usize::try_from(seed % 5).expect("small");
    let sum: u64 = prompt.iter().sum();
    let mut tokens: Vec<u64> =
        (0..length as u64).map(|at| 65 + (sum + seed / 7 + at * 3) % 26).collect();
    match stops.first() {
        Some(stop) if length < most => tokens.push(*stop),
        _ => tokens = tokens.iter().copied().cycle().take(most).collect(),
    }
    let scale = if flags.processed { params["temperature"].as_f64().unwrap_or(1.0) } else { 1.0 };
    let score =
        |(at, token): (usize, &u64)| log_prob(*token, prompt.len() + at, shift) / scale as f32;
    let log_probs = tokens.iter().enumerate().map(score).collect();
    (tokens, log_probs)
}

pub(super) fn answer(route: &str, body: &Value, flags: Flags, state: &mut State) -> (u16, Value) {
    let ok = |value| (200, value);
    let unknown = (404, json!({"detail": "Not Found"}));
    let shift = state.shift;
    match route {
        "/health" => ok(json!({})),
        "/v1/models" => ok(json!({"data": [{"id": "m", "max_model_len": flags.max_model_len}]})),
        "/tokenize" => {
            let text = body["prompt"].as_str().expect("a text");
            let more = u64::from(flags.other_tokenizer);
            let tokens: Vec<u64> = text.bytes().map(|b| u64::from(b) + more).collect();
            ok(json!({"tokens": tokens}))
        }
        "/inference/v1/generate" if flags.generate => {
            let prompt = ids(&body["token_ids"]);
            let (tokens, scores) = write_tokens(&prompt, &body["sampling_params"], flags, shift);
            let content: Vec<Value> = tokens
                .iter()
                .zip(&scores)
                .map(|(token, score)| json!({"token_id": token, "logprob": score}))
                .collect();
            let finish = finish(&tokens, &body["sampling_params"]);
            ok(json!({"choices": [{"index": 0, "token_ids": tokens, "finish_reason": finish,
                "logprobs": {"content": content},
                "weight_versions": [
                    {"version": state.version, "start": 0, "end": tokens.len()}]}]}))
        }
        "/v1/completions" if body["prompt_logprobs"].is_u64() => {
            let prompt = ids(&body["prompt"]);
            let mut entries = vec![Value::Null];
            for (at, token) in prompt.iter().enumerate().skip(1) {
                let score = json!({"logprob": log_prob(*token, at, shift)});
                entries.push(json!({ token.to_string(): score }));
            }
            ok(json!({"choices": [{"text": "x", "prompt_logprobs": entries}]}))
        }
        "/v1/completions" if body["prompt"].is_string() => {
            ok(json!({"choices": [{"text": "an answer", "finish_reason": "stop"}]}))
        }
        "/v1/completions" => {
            let (tokens, scores) = write_tokens(&ids(&body["prompt"]), body, flags, shift);
            let finish = finish(&tokens, body);
            ok(json!({"choices": [{"token_ids": tokens, "finish_reason": finish,
                "logprobs": {"token_logprobs": scores}}]}))
        }
        "/generate" => {
            let prompt = ids(&body["input_ids"]);
            let (tokens, scores) = write_tokens(&prompt, &body["sampling_params"], flags, shift);
            let given: Vec<Value> = prompt
                .iter()
                .enumerate()
                .map(|(at, token)| {
                    let score = (at > 0).then(|| log_prob(*token, at, shift));
                    json!([score, token, null])
                })
                .collect();
            let scored: Vec<Value> =
                tokens.iter().zip(&scores).map(|(token, s)| json!([s, token, null])).collect();
            let finish = finish(&tokens, &body["sampling_params"]);
            ok(json!({"output_ids": tokens, "meta_info": {"finish_reason": {"type": finish},
                "weight_version": state.version, "output_token_logprobs": scored,
                "input_token_logprobs": given}}))
        }
        _ if !flags.admin => unknown,
        "/pause?mode=keep" | "/pause_generation" => {
            state.paused = true;
            ok(json!({"status": "paused"}))
        }
        "/resume" | "/continue_generation" => {
            state.paused = false;
            ok(json!({"status": "resumed"}))
        }
        "/reset_prefix_cache" | "/unload_lora_adapter" => ok(Value::Null),
        "/update_weight_version" => {
            state.version = body["new_version"].as_str().expect("a version").to_owned();
            ok(json!({"success": true}))
        }
        "/collective_rpc"
        | "/update_weights_from_disk"
        | "/v1/load_lora_adapter"
        | "/load_lora_adapter" => {
            let path = [&body["kwargs"]["weights_path"], &body["model_path"], &body["lora_path"]];
            let path = path.iter().find_map(|path| path.as_str()).expect("a path");
            if !flags.forgets_weights {
                // A folder is called by its shift.
                state.shift = path.rsplit('-').next().expect("a name").parse().expect("a shift");
            }
            if let Some(version) = body["weight_version"].as_str() {
                state.version = version.to_owned();
            }
            ok(json!({"success": true}))
        }
        _ => unknown,
    }
}

fn finish(tokens: &[u64], params: &Value) -> &'static str {
    let stops = ids(&params["stop_token_ids"]);
    if tokens.last().is_some_and(|last| stops.contains(last)) { "stop" } else { "length" }
}
