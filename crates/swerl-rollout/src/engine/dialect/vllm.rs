//! vLLM: `/inference/v1/generate` (server flag `--enable-scale-out`), and `/v1/completions` with
//! `return_token_ids` where that is off.
//!
//! `logprobs: 0` gives the log-prob of the sampled token alone. Whether that is the model's own or
//! the one after temperature and truncation is the server's `--logprobs-mode`; `prompt_logprobs` are
//! always the model's own.

use serde_json::{Value, json};

use super::{
    Answer, Ask, Span, array, field, finish, log_prob, missing, more_params, only, shared_params,
    token, tokens, version,
};
use crate::engine::http::Failure;

pub(super) const GENERATE: &str = "/inference/v1/generate";
pub(super) const COMPLETIONS: &str = "/v1/completions";

pub(super) fn generate(ask: &Ask<'_>) -> (&'static str, Value) {
    let mut params = shared_params(ask.params, ask.seed);
    more_params(ask.params, &mut params);
    params.insert("logprobs".into(), json!(0));
    params.insert("detokenize".into(), json!(!ask.params.stop_strings.is_empty()));
    let body = json!({"model": ask.model, "token_ids": ask.prompt.ids, "sampling_params": params});
    (GENERATE, body)
}

pub(super) fn read_generate(answer: &Value) -> Result<Answer, Failure> {
    let choice = only(answer, "choices")?;
    let content = array(field(choice, "logprobs")?, "content")?;
    let ids = tokens(array(choice, "token_ids")?)?;
    let mut log_probs = Vec::with_capacity(content.len());
    for (position, entry) in content.iter().enumerate() {
        // Older servers name tokens by text alone.
        if let Some(id) = entry.get("token_id").filter(|id| !id.is_null())
            && Some(&token(id)?) != ids.get(position)
        {
            return Err(Failure::answer(format!("log-prob {position} is of another token")));
        }
        log_probs.push(log_prob(field(entry, "logprob")?)?);
    }
    Ok(Answer {
        finish: finish(field(choice, "finish_reason")?)?,
        spans: spans(choice)?,
        text: None,
        ids,
        log_probs,
    })
}

fn spans(choice: &Value) -> Result<Vec<Span>, Failure> {
    let Some(spans) = choice.get("weight_versions").and_then(Value::as_array) else {
        return Ok(Vec::new());
    };
    let place = |span: &Value, key: &'static str| {
        let place = span.get(key).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        place.ok_or_else(|| missing(key))
    };
    let span = |span: &Value| {
        let version = version(field(span, "version")?);
        Ok(Span { version, start: place(span, "start")?, end: place(span, "end")? })
    };
    spans.iter().map(span).collect()
}

pub(super) fn completions(ask: &Ask<'_>) -> (&'static str, Value) {
    let mut body = shared_params(ask.params, ask.seed);
    more_params(ask.params, &mut body);
    body.insert("model".into(), json!(ask.model));
    body.insert("prompt".into(), json!(ask.prompt.ids));
    body.insert("logprobs".into(), json!(0));
    body.insert("return_token_ids".into(), json!(true));
    (COMPLETIONS, Value::Object(body))
}

pub(super) fn read_completions(answer: &Value) -> Result<Answer, Failure> {
    let choice = only(answer, "choices")?;
    let values = array(field(choice, "logprobs")?, "token_logprobs")?;
    Ok(Answer {
        ids: tokens(array(choice, "token_ids")?)?,
        log_probs: values.iter().map(log_prob).collect::<Result<_, _>>()?,
        finish: finish(field(choice, "finish_reason")?)?,
        spans: spans(choice)?,
        text: None,
    })
}

pub(super) fn score(model: &str, ids: &[u32]) -> (&'static str, Value) {
    let body = json!({
        "model": model, "prompt": ids, "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0,
    });
    (COMPLETIONS, body)
}

pub(super) fn read_scores(answer: &Value, ids: &[u32]) -> Result<Vec<f32>, Failure> {
    let entries = array(only(answer, "choices")?, "prompt_logprobs")?;
    if entries.len() != ids.len() {
        let found = entries.len();
        return Err(Failure::answer(format!("{found} prompt_logprobs for {} tokens", ids.len())));
    }
    let score = |(entry, id): (&Value, &u32)| {
        let scored = entry.get(id.to_string());
        let scored = scored.ok_or_else(|| Failure::answer(format!("no log-prob of token {id}")))?;
        log_prob(field(scored, "logprob")?)
    };
    entries.iter().zip(ids).skip(1).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::*;
    use crate::engine::answers::fixtures::prompt;
    use crate::sampling::SamplingParams;
    use swerl_grpo::Finish;

    fn ask<'a>(prompt: &'a crate::prompt::Prompt, params: &'a SamplingParams) -> Ask<'a> {
        Ask { model: "m", prompt, params, seed: 7 }
    }

    #[test]
    fn requests_carry_every_option_that_is_set() {
        let prompt = prompt(&[5, 6]);
        let plain = SamplingParams::plain(8, &[2]);
        let (route, body) = generate(&ask(&prompt, &plain));
        assert_eq!(route, "/inference/v1/generate");
        assert_eq!(
            body,
            json!({"model": "m", "token_ids": [5, 6], "sampling_params": {
                "n": 1, "max_tokens": 8, "temperature": 1.0, "top_p": 1.0, "seed": 7,
                "stop_token_ids": [2], "ignore_eos": true, "logprobs": 0, "detokenize": false}})
        );
        let all = SamplingParams {
            top_k: 4,
            min_p: 0.1,
            min_new_tokens: 3,
            stop_strings: vec!["x".into()],
            ..plain
        };
        let (_, body) = completions(&ask(&prompt, &all));
        for (key, value) in [
            ("top_k", json!(4)),
            ("min_p", json!(0.1)),
            ("min_tokens", json!(3)),
            ("stop", json!(["x"])),
            ("include_stop_str_in_output", json!(true)),
            ("return_token_ids", json!(true)),
            ("prompt", json!([5, 6])),
        ] {
            assert_eq!(body[key], value, "{key}");
        }
    }

    #[test]
    fn an_answer_is_ids_log_probs_and_versions() {
        let answer = json!({"choices": [{"index": 0, "finish_reason": "stop",
            "token_ids": [9, 2], "logprobs": {"content": [
                {"token_id": 9, "logprob": -0.5}, {"token_id": 2, "logprob": -1.25}]},
            "weight_versions": [{"version": "3", "start": 0, "end": 1},
                                {"version": "default", "start": 1, "end": 2}]}]});
        let read = Dialect::VllmGenerate.read(&answer).expect("reads");
        assert_eq!((read.ids, read.log_probs), (vec![9, 2], vec![-0.5, -1.25]));
        assert_eq!(read.finish, Finish::Stop);
        assert_eq!(
            read.spans,
            [Span { version: Some(3), start: 0, end: 1 }, Span { version: None, start: 1, end: 2 }]
        );
        let answer = json!({"choices": [{"finish_reason": "length", "token_ids": [9],
            "logprobs": {"token_logprobs": [-0.5]}}]});
        let read = Dialect::VllmCompletions.read(&answer).expect("reads");
        assert_eq!((read.finish, read.spans.len()), (Finish::Length, 0));
    }

    #[test]
    fn other_shapes_are_named() {
        let choice = |choice: Value| json!({"choices": [choice]});
        for (answer, named) in [
            (json!({}), "choices is missing"),
            (json!({"choices": []}), "0 choices"),
            (json!({"choices": [1, 2]}), "2 choices"),
            (choice(json!({})), "logprobs is missing"),
            (choice(json!({"logprobs": {"content": []}})), "token_ids is missing"),
            (choice(json!({"logprobs": {"content": []}, "token_ids": [-1]})), "-1 is no token id"),
            (
                choice(json!({"logprobs": {"content": [{"token_id": 4, "logprob": -1}]},
                    "token_ids": [5]})),
                "another token",
            ),
            (
                choice(json!({"logprobs": {"content": [{"logprob": null}]}, "token_ids": [5]})),
                "logprob is missing",
            ),
            (
                choice(json!({"logprobs": {"content": []}, "token_ids": [],
                    "finish_reason": "tired"})),
                "no reason to finish",
            ),
        ] {
            let error = Dialect::VllmGenerate.read(&answer).expect_err("refused").to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn scores_are_of_the_prompts_own_tokens() {
        let answer = |second: Value| json!({"choices": [{"prompt_logprobs": [null, {"6": {"logprob": -0.5}}, second]}]});
        let good = answer(json!({"7": {"logprob": -2.0}, "1": {"logprob": -0.1}}));
        let read = |answer: &Value| Dialect::VllmGenerate.read_scores(answer, &[5, 6, 7]);
        assert_eq!(read(&good).expect("reads"), [-0.5, -2.0]);
        for (answer, named) in [
            (answer(json!({"8": {"logprob": -2.0}})), "no log-prob of token 7"),
            (answer(json!({"7": {"logprob": 0.5}})), "token 2 scores 0.5"),
            (json!({"choices": [{"prompt_logprobs": [null]}]}), "1 prompt_logprobs for 3"),
        ] {
            let error = read(&answer).expect_err("refused").to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
