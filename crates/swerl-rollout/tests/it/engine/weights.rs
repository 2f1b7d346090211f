//! Weights reach every engine, are proved there, and come back after a restart.

use std::error::Error;
use std::path::PathBuf;

use serde_json::json;
use swerl_rollout::{
    EngineError, EngineKind, EngineSettings, EngineWeights, Probe, SampleRequest, Sampler,
    SyncedEngine, TextCodec, WeightUpdate,
};

use super::server::{Flags, Server};
use super::toy::log_prob;
use super::{connect, params, prompts, request, settings};
use crate::support::Bytes;

/// The log-probs of a text under weights `shift`.
fn scores(ids: &[u32], shift: u64) -> Vec<f32> {
    (1..ids.len()).map(|at| log_prob(u64::from(ids[at]), at, shift)).collect()
}

fn probe(shift: u64) -> Probe {
    let ids = Bytes.encode("a probe");
    Probe { log_probs: scores(&ids, shift), ids, tolerance: 1e-3 }
}

fn folder(shift: u64) -> WeightUpdate {
    WeightUpdate::Folder(PathBuf::from(format!("weights/step-{shift}")))
}

#[test]
fn a_folder_is_loaded_by_every_engine_in_step() {
    let (a, b) = (Server::start(Flags::default()), Server::start(Flags::default()));
    let mut engine = connect(settings(EngineKind::Vllm, &[&a.url, &b.url]));
    assert_eq!(engine.loaded(), None);
    engine.load(&folder(3), 7, &probe(3)).expect("loads");
    assert_eq!(engine.loaded(), Some(7));
    for server in [&a, &b] {
        let routes = server.routes();
        let orders: Vec<&str> = routes.iter().map(String::as_str).rev().take(6).collect();
        assert_eq!(
            orders,
            [
                "/v1/completions",
                "/resume",
                "/update_weight_version",
                "/reset_prefix_cache",
                "/collective_rpc",
                "/pause?mode=keep"
            ]
        );
        assert_eq!(
            server.bodies("/collective_rpc"),
            [json!({"method": "reload_weights", "kwargs": {"weights_path": "weights/step-3"}})]
        );
        assert!(!server.state.lock().expect("no panic").paused);
    }
    let (prompts, params) = (prompts(2), params());
    let next = SampleRequest { weights_version: 7, ..request(&prompts, &params) };
    let groups = engine.sample(&(), &next, &mut ()).expect("samples");
    for (prompt, completion) in
        prompts.iter().zip(&groups).flat_map(|(p, g)| g.iter().map(move |c| (p, c)))
    {
        assert_eq!(completion.weights_version, 7);
        let first = log_prob(u64::from(completion.ids[0]), prompt.ids.len(), 3);
        assert_eq!(completion.log_probs[0], first);
    }
}

#[test]
fn sglang_loads_folders_and_adapters() {
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::Sglang, &[&server.url]));
    engine.load(&folder(2), 5, &probe(2)).expect("loads");
    assert_eq!(
        server.bodies("/update_weights_from_disk"),
        [json!({"model_path": "weights/step-2", "weight_version": "5", "flush_cache": true})]
    );
    let adapter = WeightUpdate::Lora { name: "a".into(), folder: "adapters/step-4".into() };
    engine.load(&adapter, 6, &probe(4)).expect("loads");
    let (prompts, params) = (prompts(1), params());
    let relaxed = SampleRequest { weights_version: 5, ..request(&prompts, &params) };
    engine.sample(&(), &relaxed, &mut ()).expect("samples");
    assert_eq!(server.bodies("/generate").last().expect("some")["lora_path"], "a");
}

#[test]
fn requests_go_to_an_adapter_once_it_is_loaded() {
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    let adapter = WeightUpdate::Lora { name: "policy".into(), folder: "adapters/step-4".into() };
    engine.load(&adapter, 1, &probe(4)).expect("loads");
    assert_eq!(
        server.bodies("/v1/load_lora_adapter"),
        [json!({"lora_name": "policy", "lora_path": "adapters/step-4", "load_inplace": true})]
    );
    let (prompts, params) = (prompts(1), params());
    let next = SampleRequest { weights_version: 1, ..request(&prompts, &params) };
    engine.sample(&(), &next, &mut ()).expect("samples");
    assert_eq!(server.bodies("/inference/v1/generate").last().expect("some")["model"], "policy");
    assert_eq!(server.bodies("/v1/completions").last().expect("some")["model"], "policy");
}

#[test]
fn weights_that_did_not_arrive_stop_the_run() {
    let good = Server::start(Flags::default());
    let bad = Server::start(Flags { forgets_weights: true, ..Flags::default() });
    let mut engine = connect(settings(EngineKind::Vllm, &[&good.url, &bad.url]));
    match engine.load(&folder(3), 7, &probe(3)) {
        Err(EngineError::Probe { url, version: 7, found, expected, .. }) => {
            assert_eq!(url, bad.url);
            assert!((found - expected).abs() > 0.2);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(engine.loaded(), None);
    // A probe of the trainer that is no number is no proof either.
    let mut broken = probe(3);
    broken.log_probs[2] = f32::NAN;
    let mut engine = connect(settings(EngineKind::Vllm, &[&good.url]));
    assert!(matches!(
        engine.load(&folder(3), 8, &broken),
        Err(EngineError::Probe { position: 3, .. })
    ));
    broken.log_probs.pop();
    assert!(matches!(engine.load(&folder(3), 8, &broken), Err(EngineError::Probe { .. })));
}

#[test]
fn missing_flags_are_named_and_engines_resumed() {
    let server = Server::start(Flags { admin: false, ..Flags::default() });
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    let error = engine.load(&folder(3), 7, &probe(3)).expect_err("refused").to_string();
    assert!(error.contains("VLLM_SERVER_DEV_MODE=1"), "{error}");
    assert_eq!(server.routes().last().map(String::as_str), Some("/resume"));
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::OpenAi, &[&server.url]));
    let error = engine.load(&folder(3), 7, &probe(3)).expect_err("refused").to_string();
    assert!(error.contains("loads no weights"), "{error}");
}

/// A policy that is its own number of weights.
struct Numbered {
    written: Vec<u64>,
}

impl EngineWeights<u64> for Numbered {
    fn write(
        &mut self,
        policy: &u64,
        version: u64,
    ) -> Result<WeightUpdate, Box<dyn Error + Send + Sync>> {
        self.written.push(version);
        Ok(folder(*policy))
    }

    fn log_probs(
        &self,
        policy: &u64,
        ids: &[u32],
    ) -> Result<Vec<f32>, Box<dyn Error + Send + Sync>> {
        if *policy == 99 { Err("diverged".into()) } else { Ok(scores(ids, *policy)) }
    }
}

#[test]
fn a_synced_engine_follows_the_policy_and_finds_its_way_back() {
    let server = Server::start(Flags::default());
    let strict = EngineSettings { max_staleness: 0, ..settings(EngineKind::Vllm, &[&server.url]) };
    let engine = connect(strict);
    let weights = Numbered { written: Vec::new() };
    let mut synced = SyncedEngine::new(engine, weights, "a probe", 1e-3).expect("a probe");
    let (prompts, params) = (prompts(2), params());
    let at = |weights_version| SampleRequest { weights_version, ..request(&prompts, &params) };
    let loads = || server.bodies("/collective_rpc").len();
    // Policy 5 at version 1, asked twice: loaded once.
    for _ in 0..2 {
        let groups = synced.sample(&5, &at(1), &mut ()).expect("samples");
        assert!(groups.iter().flatten().all(|c| c.weights_version == 1));
    }
    assert_eq!(loads(), 1);
    let groups = synced.sample(&6, &at(2), &mut ()).expect("samples");
    assert!(groups.iter().flatten().all(|c| c.weights_version == 2));
    assert_eq!(loads(), 2);
    // The engine was restarted: its first weights, and their name.
    {
        let mut state = server.state.lock().expect("no panic");
        state.version = "default".to_owned();
        state.shift = 0;
    }
    let groups = synced.sample(&6, &at(2), &mut ()).expect("samples");
    assert!(groups.iter().flatten().all(|c| c.weights_version == 2));
    assert_eq!(loads(), 3);
    let error = synced.sample(&99, &at(3), &mut ()).expect_err("cannot be scored");
    assert!(format!("{error:?}").contains("diverged"), "{error:?}");
    assert!(
        SyncedEngine::new(
            connect(settings(EngineKind::Vllm, &[&server.url])),
            Numbered { written: Vec::new() },
            "a",
            1e-3
        )
        .is_err()
    );
}
