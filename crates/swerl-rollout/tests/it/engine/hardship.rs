//! Engines that fail, hang, lie and come back: nothing is lost, nothing is counted twice, nothing is
//! waited for without end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use swerl_rollout::{
    Completion, EngineKind, EngineSettings, RolloutObserver, SampleError, Sampler,
};

use super::server::{Flags, Reply, Server};
use super::{connect, params, prompts, request, settings};

const GENERATE: &str = "/inference/v1/generate";

fn message(error: &SampleError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn ids(groups: &[Vec<Completion>]) -> Vec<Vec<u32>> {
    groups.iter().flatten().map(|completion| completion.ids.clone()).collect()
}

/// What an undisturbed engine gives.
fn undisturbed() -> Vec<Vec<u32>> {
    let server = Server::start(Flags::default());
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    ids(&engine.sample(&(), &request(&prompts(3), &params()), &mut ()).expect("samples"))
}

/// The first answer for each seed is spoiled in this way, and the result is as if it were not.
#[track_caller]
fn recovers(spoil: impl Fn() -> Reply + Send + Sync + 'static) {
    let seen = Mutex::new(BTreeSet::new());
    let server = Server::scripted(Flags::default(), move |route, body, before| {
        // The first request to the route is the probe at the start.
        let seed = body["sampling_params"]["seed"].as_u64();
        let first = || seen.lock().expect("no panic").insert(seed);
        if route == GENERATE && before > 0 && first() { spoil() } else { Reply::Toy }
    });
    let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
    let groups = engine.sample(&(), &request(&prompts(3), &params()), &mut ()).expect("recovers");
    assert_eq!(ids(&groups), undisturbed());
    assert_eq!(server.bodies(GENERATE).len(), 1 + 2 * 9);
}

#[test]
fn what_passes_is_asked_for_again() {
    recovers(|| Reply::Status(500, "EngineCore died"));
    recovers(|| Reply::Status(503, "overloaded"));
    recovers(|| Reply::Text("{\"choices\": [{\"tok"));
    recovers(|| Reply::Text("{\"choices\": []}"));
    recovers(|| Reply::Text("<html>gateway</html>"));
    recovers(|| Reply::Cut);
    recovers(|| Reply::Drop);
    recovers(|| {
        Reply::Changed(|answer| drop(answer["choices"].as_array_mut().expect("some").pop()))
    });
    recovers(|| Reply::Changed(|answer| answer["choices"][0]["token_ids"] = json!([])));
    recovers(|| Reply::Changed(|answer| answer["choices"][0]["token_ids"][0] = json!(100_000)));
    recovers(|| Reply::Changed(|answer| answer["choices"][0]["finish_reason"] = json!("abort")));
    recovers(|| {
        Reply::Changed(|answer| {
            answer["choices"][0]["logprobs"]["content"][0]["logprob"] = json!(0.5);
        })
    });
    recovers(|| {
        Reply::Text(
            "{\"choices\":[{\"token_ids\":[65],\"finish_reason\":\"length\",\"logprobs\":{\"content\":[{\"token_id\":65,\"logprob\":NaN}]}}]}",
        )
    });
}

#[test]
fn what_stays_wrong_is_named_after_the_last_attempt() {
    for (change, named) in [
        (
            (|answer: &mut Value| answer["choices"][0]["token_ids"][0] = json!(66_000))
                as fn(&mut Value),
            "of another token",
        ),
        (|answer| answer["choices"] = json!([1, 2]), "2 choices for one"),
        (|answer| answer["choices"][0]["weight_versions"] = json!([]), ""),
    ] {
        let server = Server::scripted(Flags::default(), move |route, _, before| {
            if route == GENERATE && before > 0 { Reply::Changed(change) } else { Reply::Toy }
        });
        let mut engine = connect(settings(EngineKind::Vllm, &[&server.url]));
        let result = engine.sample(&(), &request(&prompts(1), &params()), &mut ());
        if named.is_empty() {
            assert!(result.is_ok(), "versions may be missing");
            continue;
        }
        let error = message(&result.expect_err("refused"));
        assert!(error.contains(named) && error.contains("p0, sample"), "{error}");
        assert!(error.contains("failed 3 times") && error.contains(GENERATE), "{error}");
    }
}

#[test]
fn a_refused_request_is_not_repeated() {
    let server = Server::scripted(Flags::default(), |route, _, before| {
        if route == GENERATE && before > 0 { Reply::Status(400, "bad seed") } else { Reply::Toy }
    });
    let one = EngineSettings { max_in_flight: 1, ..settings(EngineKind::Vllm, &[&server.url]) };
    let error =
        connect(one).sample(&(), &request(&prompts(1), &params()), &mut ()).expect_err("refused");
    assert!(message(&error).contains("status 400: bad seed"), "{}", message(&error));
    assert_eq!(server.bodies(GENERATE).len(), 2);
}

#[test]
fn an_engine_that_is_killed_and_restarted_loses_nothing() {
    let server = Server::scripted(Flags::default(), |route, _, before| {
        if route == GENERATE && before > 4 { Reply::Drop } else { Reply::Toy }
    });
    let patient = EngineSettings { down_s: 20.0, ..settings(EngineKind::Vllm, &[&server.url]) };
    let mut engine = connect(patient);
    let address = server.port();
    let (sender, receiver) = std::sync::mpsc::channel();
    let restart = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(server);
        std::thread::sleep(Duration::from_millis(200));
        let server = Server::at(&address, Flags::default(), |_, _, _| Reply::Toy);
        receiver.recv().expect("the test ends");
        server.bodies(GENERATE).len()
    });
    let groups = engine.sample(&(), &request(&prompts(3), &params()), &mut ()).expect("goes on");
    sender.send(()).expect("the server waits");
    let after = restart.join().expect("restarts");
    assert_eq!(ids(&groups), undisturbed());
    assert!((1..=9).contains(&after), "{after} requests after the restart");
}

#[derive(Default)]
struct Watch {
    stalls: Vec<String>,
    finished: usize,
    stop: Option<Arc<AtomicBool>>,
}

impl RolloutObserver for Watch {
    fn on_progress(&mut self, _: usize, finished: usize) {
        self.finished += finished;
    }

    fn on_stall(&mut self, pending: &[String], _: f64) {
        self.stalls.extend_from_slice(pending);
    }

    fn should_stop(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::SeqCst))
    }
}

/// A server that answers but for one prompt, which hangs.
fn hanging() -> Server {
    Server::scripted(Flags::default(), |route, body, _| {
        let hangs = body["token_ids"] == json!(prompts(2)[1].ids);
        if route == GENERATE && hangs { Reply::Hang } else { Reply::Toy }
    })
}

#[test]
fn what_hangs_is_named_and_ends_at_the_deadline() {
    let server = hanging();
    let short = EngineSettings {
        deadline_s: 0.5,
        stall_s: 0.1,
        request_s: 60.0,
        ..settings(EngineKind::Vllm, &[&server.url])
    };
    let mut engine = connect(short);
    let mut watch = Watch::default();
    let start = Instant::now();
    let error = engine.sample(&(), &request(&prompts(2), &params()), &mut watch).expect_err("late");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(message(&error).contains("3 of 6 completions"), "{}", message(&error));
    assert!(message(&error).contains("pending: p1;"), "{}", message(&error));
    assert!(watch.stalls.contains(&"p1".to_owned()) && !watch.stalls.contains(&"p0".to_owned()));
    assert_eq!(watch.finished, 3);
    // The connections were broken off; the sampler goes on with new ones.
    assert!(engine.sample(&(), &request(&prompts(1), &params()), &mut ()).is_ok());
}

#[test]
fn a_slow_answer_counts_against_the_time_of_its_request() {
    let server = Server::scripted(Flags::default(), |route, _, before| {
        let slow = route == GENERATE && before > 0;
        if slow { Reply::Slow(Duration::from_millis(200)) } else { Reply::Toy }
    });
    let short = EngineSettings {
        request_s: 0.3,
        attempts: 2,
        ..settings(EngineKind::Vllm, &[&server.url])
    };
    let mut engine = connect(short);
    let start = Instant::now();
    let error = engine.sample(&(), &request(&prompts(1), &params()), &mut ()).expect_err("late");
    assert!(message(&error).contains("no answer within 0.3 s"), "{}", message(&error));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_wish_to_stop_is_heard_while_engines_hang() {
    let server = hanging();
    let patient = EngineSettings { request_s: 600.0, ..settings(EngineKind::Vllm, &[&server.url]) };
    let mut engine = connect(patient);
    let stop = Arc::new(AtomicBool::new(false));
    let mut watch = Watch { stop: Some(Arc::clone(&stop)), ..Watch::default() };
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::SeqCst);
    });
    let start = Instant::now();
    let error = engine.sample(&(), &request(&prompts(2), &params()), &mut watch);
    assert!(matches!(error, Err(SampleError::Interrupted)));
    assert!(start.elapsed() < Duration::from_secs(10));
    stopper.join().expect("stops");
}

#[test]
fn an_engine_that_never_comes_up_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let error = swerl_rollout::EngineSampler::connect(
        settings(EngineKind::Vllm, &[&url]),
        crate::support::Bytes,
        257,
        None,
    )
    .expect_err("nobody is there")
    .to_string();
    assert!(error.contains(&url) && error.contains("is up failed"), "{error}");
}
