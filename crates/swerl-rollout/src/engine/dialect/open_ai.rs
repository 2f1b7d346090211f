//! Any server with OpenAI's routes: text in, text out, for evaluation.

use serde_json::{Value, json};
use swerl_grpo::Finish;

use super::{Answer, Ask, field, finish, only, shared_params};
use crate::engine::http::Failure;

pub(super) fn request(ask: &Ask<'_>) -> (&'static str, Value) {
    let mut body = shared_params(ask.params, ask.seed);
    body.insert("model".into(), json!(ask.model));
    if !ask.params.stop_strings.is_empty() {
        body.insert("stop".into(), json!(ask.params.stop_strings));
    }
    if ask.prompt.messages.is_empty() {
        body.insert("prompt".into(), json!(ask.prompt.text));
        return ("/v1/completions", Value::Object(body));
    }
    let messages: Vec<Value> = ask
        .prompt
        .messages
        .iter()
        .map(|message| json!({"role": message.role.name(), "content": message.content}))
        .collect();
    body.insert("messages".into(), json!(messages));
    ("/v1/chat/completions", Value::Object(body))
}

pub(super) fn read(answer: &Value) -> Result<Answer, Failure> {
    let choice = only(answer, "choices")?;
    let holder = match choice.get("message") {
        Some(message) => field(message, "content")?,
        None => field(choice, "text")?,
    };
    let text = holder.as_str().ok_or_else(|| Failure::answer("the text is no string"))?;
    // Some servers name reasons of their own; what is no length limit ended by itself.
    let finish = match choice.get("finish_reason") {
        Some(reason) => finish(reason).unwrap_or(Finish::Stop),
        None => Finish::Stop,
    };
    Ok(Answer {
        ids: Vec::new(),
        log_probs: Vec::new(),
        finish,
        spans: Vec::new(),
        text: Some(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::*;
    use crate::engine::answers::fixtures::prompt;
    use crate::prompt::{Message, Role};
    use crate::sampling::SamplingParams;

    #[test]
    fn prompts_with_turns_are_sent_as_chat() {
        let mut prompt = prompt(&[5]);
        let params = SamplingParams::plain(8, &[2]);
        let ask = Ask { model: "m", prompt: &prompt, params: &params, seed: 7 };
        let (route, body) = Dialect::OpenAi.request(&ask);
        assert_eq!((route, &body["prompt"]), ("/v1/completions", &json!("text")));
        assert_eq!(body.get("stop_token_ids"), None);
        prompt.messages = vec![Message { role: Role::User, content: "hi".into() }];
        let (route, body) =
            Dialect::OpenAi.request(&Ask { model: "m", prompt: &prompt, params: &params, seed: 7 });
        assert_eq!(route, "/v1/chat/completions");
        assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
    }

    #[test]
    fn answers_of_both_routes() {
        let read = |choice: Value| Dialect::OpenAi.read(&json!({"choices": [choice]}));
        let chat = read(json!({"message": {"content": "a"}, "finish_reason": "length"}));
        let chat = chat.expect("reads");
        assert_eq!((chat.text.as_deref(), chat.finish), (Some("a"), Finish::Length));
        let plain = read(json!({"text": "b", "finish_reason": "eos"})).expect("reads");
        assert_eq!((plain.text.as_deref(), plain.finish), (Some("b"), Finish::Stop));
        assert!(read(json!({"message": {"content": null}})).is_err());
        assert!(Dialect::OpenAi.score_request("m", &[1]).is_none());
    }
}
