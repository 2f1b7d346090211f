//! SGLang: `/generate` with `input_ids`.
//!
//! Log-probs are those after the temperature, unless the server runs with
//! `SGLANG_RETURN_ORIGINAL_LOGPROB=1`; those of a given text come from `logprob_start_len: 0`.

use serde_json::{Map, Value, json};

use super::{Answer, Ask, Span, array, field, finish, log_prob, token, tokens, version};
use crate::engine::http::Failure;
use crate::sampling::SamplingParams;

pub(super) const GENERATE: &str = "/generate";

pub(super) fn generate(ask: &Ask<'_>) -> (&'static str, Value) {
    let mut body = json!({
        "input_ids": ask.prompt.ids,
        "sampling_params": sampling(ask.params, ask.seed),
        "return_logprob": true,
    });
    adapter(&mut body, ask.model);
    (GENERATE, body)
}

/// The model is the server's own; a name with a mark in it is that of an adapter.
fn adapter(body: &mut Value, model: &str) {
    if let Some(name) = model.strip_prefix(ADAPTER) {
        body["lora_path"] = json!(name);
    }
}

/// Before the name of an adapter, where the name of a model is expected.
pub(crate) const ADAPTER: &str = "lora:";

fn sampling(params: &SamplingParams, seed: u64) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("n".into(), json!(1));
    map.insert("max_new_tokens".into(), json!(params.max_new_tokens));
    map.insert("temperature".into(), json!(params.temperature));
    map.insert("top_p".into(), json!(params.top_p));
    // Read by servers with --enable-deterministic-inference; 31 bits.
    map.insert("sampling_seed".into(), json!(seed >> 32));
    map.insert("stop_token_ids".into(), json!(params.stop_ids));
    map.insert("ignore_eos".into(), json!(true));
    if params.top_k > 0 {
        map.insert("top_k".into(), json!(params.top_k));
    }
    if params.min_p > 0.0 {
        map.insert("min_p".into(), json!(params.min_p));
    }
    if params.min_new_tokens > 0 {
        map.insert("min_new_tokens".into(), json!(params.min_new_tokens));
    }
    if !params.stop_strings.is_empty() {
        map.insert("stop".into(), json!(params.stop_strings));
        map.insert("no_stop_trim".into(), json!(true));
    }
    map
}

pub(super) fn read(answer: &Value) -> Result<Answer, Failure> {
    if answer.is_array() {
        return Err(Failure::answer("a list for one completion"));
    }
    let meta = field(answer, "meta_info")?;
    let ids = tokens(array(answer, "output_ids")?)?;
    let log_probs = scored(array(meta, "output_token_logprobs")?, &ids)?;
    let reason = field(field(meta, "finish_reason")?, "type")?;
    let whole = |version| Span { version, start: 0, end: ids.len() };
    let spans = meta.get("weight_version").map(|value| whole(version(value)));
    Ok(Answer {
        finish: finish(reason)?,
        spans: spans.into_iter().collect(),
        text: None,
        ids,
        log_probs,
    })
}

/// Log-probs of entries `[log-prob, id, text]`, which must be those of `ids`.
fn scored(entries: &[Value], ids: &[u32]) -> Result<Vec<f32>, Failure> {
    if entries.len() != ids.len() {
        let found = entries.len();
        return Err(Failure::answer(format!("{found} log-probs for {} tokens", ids.len())));
    }
    let one = |(position, (entry, id)): (usize, (&Value, &u32))| {
        let (Some(value), Some(found)) = (entry.get(0), entry.get(1)) else {
            return Err(Failure::answer(format!("log-prob {position} is {entry}")));
        };
        if token(found)? != *id {
            return Err(Failure::answer(format!("log-prob {position} is of another token")));
        }
        log_prob(value)
    };
    entries.iter().zip(ids).enumerate().map(one).collect()
}

pub(super) fn score(model: &str, ids: &[u32]) -> (&'static str, Value) {
    let mut body = json!({
        "input_ids": ids,
        "sampling_params": {"max_new_tokens": 1, "temperature": 0.0},
        "return_logprob": true,
        "logprob_start_len": 0,
    });
    adapter(&mut body, model);
    (GENERATE, body)
}

pub(super) fn read_scores(answer: &Value, ids: &[u32]) -> Result<Vec<f32>, Failure> {
    let entries = array(field(answer, "meta_info")?, "input_token_logprobs")?;
    // The first token has none; it is null or left out.
    let skipped = usize::from(entries.len() == ids.len());
    scored(&entries[skipped..], &ids[1..])
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::*;
    use crate::engine::answers::fixtures::prompt;
    use swerl_grpo::Finish;

    #[test]
    fn a_request_and_its_answer() {
        let prompt = prompt(&[5, 6]);
        let params = SamplingParams { top_k: 3, ..SamplingParams::plain(8, &[2]) };
        let ask = Ask { model: "lora:a", prompt: &prompt, params: &params, seed: 9 << 32 };
        let (route, body) = Dialect::Sglang.request(&ask);
        assert_eq!(route, "/generate");
        assert_eq!(
            body,
            json!({"input_ids": [5, 6], "return_logprob": true, "lora_path": "a",
                "sampling_params": {"n": 1, "max_new_tokens": 8, "temperature": 1.0, "top_p": 1.0,
                    "sampling_seed": 9, "stop_token_ids": [2], "ignore_eos": true, "top_k": 3}})
        );
        let answer = json!({"text": "x", "output_ids": [9, 2], "meta_info": {
            "finish_reason": {"type": "stop", "matched": 2}, "weight_version": "4",
            "output_token_logprobs": [[-0.5, 9, null], [-1.25, 2, null]]}});
        let read = Dialect::Sglang.read(&answer).expect("reads");
        assert_eq!((read.ids, read.log_probs), (vec![9, 2], vec![-0.5, -1.25]));
        assert_eq!(read.finish, Finish::Stop);
        assert_eq!(read.spans, [Span { version: Some(4), start: 0, end: 2 }]);
    }

    #[test]
    fn log_probs_of_other_tokens_are_refused() {
        let answer = |entries: Value| {
            json!({"output_ids": [9], "meta_info": {"finish_reason": {"type": "length"},
                "output_token_logprobs": entries}})
        };
        for (entries, named) in [
            (json!([]), "0 log-probs for 1 tokens"),
            (json!([[-1.0, 8, null]]), "of another token"),
            (json!([[null, 9, null]]), "no log-prob"),
            (json!([7]), "log-prob 0 is 7"),
        ] {
            let error = Dialect::Sglang.read(&answer(entries)).expect_err("refused").to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn scores_with_and_without_a_place_for_the_first_token() {
        let answer = |entries: Value| json!({"meta_info": {"input_token_logprobs": entries}});
        let with = answer(json!([[null, 5, null], [-0.5, 6, null]]));
        let without = answer(json!([[-0.5, 6, null]]));
        for answer in [with, without] {
            assert_eq!(Dialect::Sglang.read_scores(&answer, &[5, 6]).expect("reads"), [-0.5]);
        }
    }
}
