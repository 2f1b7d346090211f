//! What is asked of an engine, and what is refused before it is used.

use swerl_grpo::Finish;
use swerl_rollout::{
    EngineKind, EngineSampler, LogProbMode, SampleError, SampleRequest, Sampler, SamplingParams,
    Stream,
};

use super::server::{Flags, Server};
use super::toy::log_prob;
use super::{connect, params, prompts, request, settings};
use crate::support::Bytes;

#[test]
fn completions_are_the_engines_tokens_with_their_log_probs() {
    for (kind, flags) in [
        (EngineKind::Vllm, Flags::default()),
        (EngineKind::Vllm, Flags { generate: false, ..Flags::default() }),
        (EngineKind::Sglang, Flags::default()),
    ] {
        let server = Server::start(flags);
        let mut engine = connect(settings(kind, &[&server.url]));
        assert_eq!(engine.info().log_probs, LogProbMode::Raw);
        assert_eq!(engine.info().context, Some(512));
        let (prompts, params) = (prompts(5), params());
        let groups = engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [3; 5]);
        for (prompt, group) in prompts.iter().zip(&groups) {
            for completion in group {
                for (at, (id, score)) in
                    completion.ids.iter().zip(&completion.log_probs).enumerate()
                {
                    assert_eq!(*score, log_prob(u64::from(*id), prompt.ids.len() + at, 0));
                }
                assert_eq!(completion.raw_log_probs, completion.log_probs);
                let ended = completion.ids.last() == Some(&Bytes::EOS);
                assert_eq!(completion.finish == Finish::Stop, ended);
                assert_eq!(completion.text.len(), completion.ids.len() - usize::from(ended));
                assert_eq!(completion.weights_version, 0);
            }
        }
        // The same request gives the same tokens: seeds are counted, whatever the order.
        let again = engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
        let ids = |groups: &[Vec<swerl_rollout::Completion>]| -> Vec<Vec<u32>> {
            groups.iter().flatten().map(|completion| completion.ids.clone()).collect()
        };
        assert_eq!(ids(&groups), ids(&again));
        let other = SampleRequest { step: 3, ..request(&prompts, &params) };
        assert_ne!(ids(&groups), ids(&engine.sample(&(), &other, &mut ()).expect("samples")));
    }
}

#[test]
fn every_sample_has_a_seed_of_its_own_and_connections_are_kept() {
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    let (prompts, params) = (prompts(8), params());
    let before = server.bodies("/inference/v1/generate").len();
    engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
    let bodies = server.bodies("/inference/v1/generate");
    let seeds: std::collections::BTreeSet<u64> = bodies[before..]
        .iter()
        .map(|body| body["sampling_params"]["seed"].as_u64().expect("a seed"))
        .collect();
    assert_eq!(seeds.len(), 24);
    assert!(seeds.iter().all(|seed| *seed < 1 << 63));
    let state = server.state.lock().expect("no panic");
    assert!(state.connections <= 5, "{} connections for 4 workers", state.connections);
}

#[test]
fn prompts_go_to_the_router_and_else_to_the_engines_in_turn() {
    let (a, b, router) = (
        Server::start(Flags::default()),
        Server::start(Flags::default()),
        Server::start(Flags::default()),
    );
    let generate = "/inference/v1/generate";
    let mut engine = connect(settings(EngineKind::Vllm, &[&a.url, &b.url]));
    let (prompts, params) = (prompts(4), params());
    engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
    // One probe, then two of the four prompts with three samples each.
    assert_eq!((a.bodies(generate).len(), b.bodies(generate).len()), (7, 7));
    let first = a.bodies(generate)[1]["token_ids"].clone();
    assert!(b.bodies(generate).iter().all(|body| body["token_ids"] != first));
    let routed = swerl_rollout::EngineSettings {
        router: Some(router.url.clone()),
        ..settings(EngineKind::Vllm, &[&a.url, &b.url])
    };
    let mut engine = connect(routed);
    engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
    assert_eq!(router.bodies(generate).len(), 12);
    assert_eq!((a.bodies(generate).len(), b.bodies(generate).len()), (8, 8));
}

#[test]
fn the_models_own_log_probs_are_asked_for_where_the_sampled_ones_are_others() {
    let server = Server::start(Flags { processed: true, ..Flags::default() });
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    assert_eq!(engine.info().log_probs, LogProbMode::Processed);
    let prompts = prompts(2);
    let params = SamplingParams { temperature: 0.5, ..params() };
    let groups = engine.sample(&(), &request(&prompts, &params), &mut ()).expect("samples");
    for (prompt, group) in prompts.iter().zip(&groups) {
        for completion in group {
            for (at, id) in completion.ids.iter().enumerate() {
                let raw = log_prob(u64::from(*id), prompt.ids.len() + at, 0);
                assert_eq!(completion.raw_log_probs[at], raw);
                assert_eq!(completion.log_probs[at], raw / 0.5);
            }
        }
    }
}

#[test]
fn texts_alone_can_be_evaluated_and_not_trained_on() {
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::OpenAi, &[&server.url]));
    let (prompts, params) = (prompts(2), params());
    let training = request(&prompts, &params);
    let error = engine.sample(&(), &training, &mut ()).expect_err("refused");
    assert!(chain(&error).contains("no token ids"), "{}", chain(&error));
    let evaluation = SampleRequest { stream: Stream::Evaluation, ..training };
    let groups = engine.sample(&(), &evaluation, &mut ()).expect("samples");
    assert!(groups.iter().flatten().all(|completion| completion.text == "an answer"));
}

/// The message of an error and of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[track_caller]
fn refused(kind: EngineKind, flags: Flags, model: &str, named: &[&str]) {
    let server = Server::start(flags);
    let settings =
        swerl_rollout::EngineSettings { model: model.to_owned(), ..settings(kind, &[&server.url]) };
    let error = EngineSampler::connect(settings, Bytes, Bytes::VOCABULARY, None)
        .err()
        .map(|error| chain(&error))
        .expect("is refused");
    for part in named {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn engines_that_would_give_wrong_data_are_refused_with_a_remedy() {
    let flags = Flags::default();
    refused(EngineKind::Vllm, flags, "other", &["serves m, not other", "--served-model-name"]);
    refused(
        EngineKind::Vllm,
        Flags { other_tokenizer: true, ..flags },
        "m",
        &["splits the probe", "policy's own"],
    );
    // Log-probs of another distribution than the one sampled from, and too short a context.
    let server = Server::start(Flags { max_model_len: 12, ..flags });
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    let prompts = prompts(1);
    for (params, named) in [
        (
            SamplingParams { temperature: 0.7, ..SamplingParams::plain(2, &[]) },
            "processed_logprobs",
        ),
        (SamplingParams { min_p: 0.1, ..SamplingParams::plain(2, &[]) }, "processed_logprobs"),
        (params(), "context of 12"),
    ] {
        let error = engine.sample(&(), &request(&prompts, &params), &mut ()).expect_err("refused");
        assert!(chain(&error).contains(named), "{}", chain(&error));
    }
    // A greedy draw is certain under either.
    let greedy = SamplingParams::greedy(2, &[]);
    let groups = engine.sample(&(), &request(&prompts, &greedy), &mut ()).expect("samples");
    assert_eq!(groups[0][0].log_probs, [0.0, 0.0]);
    assert!(groups[0][0].raw_log_probs.iter().all(|value| *value < 0.0));
}

#[test]
fn stale_tokens_are_refused_for_training_alone() {
    let server = Server::start(Flags::default());
    let allow = |max_staleness| {
        let settings = settings(EngineKind::Vllm, &[&server.url]);
        connect(swerl_rollout::EngineSettings { max_staleness, ..settings })
    };
    let (prompts, params) = (prompts(1), params());
    let late = SampleRequest { weights_version: 2, ..request(&prompts, &params) };
    let error = allow(1).sample(&(), &late, &mut ()).expect_err("refused");
    assert!(matches!(error, SampleError::Engine { .. }), "{error}");
    assert!(chain(&error).contains("version 0, the trainer is at 2"), "{}", chain(&error));
    assert!(allow(2).sample(&(), &late, &mut ()).is_ok());
    let evaluation = SampleRequest { stream: Stream::Evaluation, ..late };
    assert!(allow(0).sample(&(), &evaluation, &mut ()).is_ok());
}
