//! Loading weights into every engine, and proof that they arrived.
//!
//! A folder of safetensors goes in five steps, each at all engines before the next: pause, load,
//! forget the cached prefixes and name the version, resume, then score a probe. A LoRA adapter is
//! loaded in place of its older version. If a step fails the engines are resumed and the error stands:
//! sampling from engines that disagree would be worse than stopping.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::EngineSampler;
use super::dialect::ADAPTER;
use super::error::EngineError;
use super::http::Failure;
use super::link::{Exchanged, Link};
use super::settings::EngineKind;
use crate::codec::TextCodec;

/// What engines load.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightUpdate {
    /// A Hugging Face folder with all weights, on a disk that every engine sees under this path.
    Folder(PathBuf),
    /// A PEFT folder, loaded over the adapter of that name.
    Lora {
        /// Name of the adapter; requests are made to it from then on.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
}

/// Token ids whose log-probs the trainer has computed under the weights to be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The ids, at least two.
    pub ids: Vec<u32>,
    /// Natural log-probs of `ids[1..]`, temperature 1.
    pub log_probs: Vec<f32>,
    /// Largest difference allowed for any token. 1e-3 between two f32 programs; bf16 weights need
    /// about 0.1.
    pub tolerance: f32,
}

impl<C: TextCodec> EngineSampler<C> {
    /// Loads weights of `version` (the number of optimizer steps behind them) into every engine, and
    /// compares the probe's log-probs at each.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when the engine runs without the flags for it, [`EngineError::Probe`]
    /// when it then gives other log-probs than the trainer.
    pub fn load(
        &mut self,
        update: &WeightUpdate,
        version: u64,
        probe: &Probe,
    ) -> Result<(), EngineError> {
        let urls: Vec<String> = self.link.settings().engines().map(str::to_owned).collect();
        let kind = self.link.settings().kind;
        let orders = match kind {
            EngineKind::Vllm => vllm_orders(update, version),
            EngineKind::Sglang => sglang_orders(update, version),
            EngineKind::OpenAi => {
                return Err(EngineError::Refused {
                    url: urls[0].clone(),
                    problem: "this kind of server loads no weights".to_owned(),
                    remedy: "use vLLM or SGLang to train".to_owned(),
                });
            }
        };
        self.loaded = None;
        let loaded = give(&self.link, &urls, &orders);
        if loaded.is_err() {
            // The first error is the one to report.
            for order in orders.iter().filter(|order| order.resumes) {
                for url in &urls {
                    let _ = self.link.order(url, order.route, &order.body);
                }
            }
        }
        loaded?;
        if let WeightUpdate::Lora { name, .. } = update {
            self.model = match kind {
                EngineKind::Sglang => format!("{ADAPTER}{name}"),
                _ => name.clone(),
            };
        } else {
            self.model = self.link.settings().model.clone();
        }
        for url in &urls {
            self.compare(url, version, probe)?;
        }
        self.loaded = Some(version);
        Ok(())
    }

    /// Compares the probe's log-probs at one engine.
    fn compare(&self, url: &str, version: u64, probe: &Probe) -> Result<(), EngineError> {
        let found =
            self.link.with(url, "scoring the probe", |url| self.score_at(url, &probe.ids))?;
        let mut worst: Option<(usize, f32, f32)> = None;
        for (index, (found, expected)) in found.iter().zip(&probe.log_probs).enumerate() {
            let difference = (found - expected).abs();
            // Not `>`: a NaN of the trainer is a difference too.
            let within = difference <= probe.tolerance;
            if !within && worst.is_none_or(|(_, f, e)| difference > (f - e).abs()) {
                worst = Some((index + 1, *found, *expected));
            }
        }
        if found.len() != probe.log_probs.len() || found.is_empty() {
            worst = Some((0, f32::NAN, f32::NAN));
        }
        match worst {
            None => Ok(()),
            Some((position, found, expected)) => Err(EngineError::Probe {
                url: url.to_owned(),
                version,
                position,
                found,
                expected,
                tolerance: probe.tolerance,
            }),
        }
    }
}

/// One order to an engine.
#[derive(Debug, Clone, PartialEq)]
struct Order {
    what: &'static str,
    route: &'static str,
    body: Value,
    /// Whether an engine must be given it even when an earlier one failed.
    resumes: bool,
    /// Whether its failure means nothing.
    may_fail: bool,
    /// What is missing where the route is unknown.
    remedy: &'static str,
}

impl Order {
    fn new(what: &'static str, route: &'static str, body: Value, remedy: &'static str) -> Self {
        Self { what, route, body, resumes: false, may_fail: false, remedy }
    }
}

/// Each order to all engines, before the next.
fn give(link: &Link, urls: &[String], orders: &[Order]) -> Result<(), EngineError> {
    for order in orders {
        for url in urls {
            let given = link.with(url, order.what, |url| done(link, url, order));
            match given {
                Ok(()) => {}
                Err(_) if order.may_fail => {}
                Err(EngineError::Request { source, .. }) if source.is_unknown_route() => {
                    return Err(EngineError::Refused {
                        url: url.clone(),
                        problem: format!("it has no route {}", order.route),
                        remedy: order.remedy.to_owned(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Gives an order. Some engines say with status 200 that they failed.
fn done(link: &Link, url: &str, order: &Order) -> Exchanged<()> {
    if order.route != SGLANG_UPDATE {
        return link.order(url, order.route, &order.body);
    }
    let answer = link.post(url, order.route, &order.body)?;
    if answer.get("success").and_then(Value::as_bool) == Some(true) {
        return Ok(());
    }
    Err((order.route, Failure::answer(answer.to_string())))
}

const DEV_MODE: &str = "start vLLM with the environment variable VLLM_SERVER_DEV_MODE=1, on a private \
                        network: these routes ask for no password";
const VLLM_LORA: &str = "start vLLM with --enable-lora and the environment variable \
                         VLLM_ALLOW_RUNTIME_LORA_UPDATING=1";
const SGLANG_ADMIN: &str = "use SGLang 0.5 or later";
const SGLANG_LORA: &str = "start SGLang with --enable-lora";
const SGLANG_UPDATE: &str = "/update_weights_from_disk";

fn vllm_orders(update: &WeightUpdate, version: u64) -> Vec<Order> {
    let pause = Order::new("pausing", "/pause?mode=keep", json!({}), DEV_MODE);
    let resume = Order { resumes: true, ..Order::new("resuming", "/resume", json!({}), DEV_MODE) };
    let name = Order::new(
        "naming the version",
        "/update_weight_version",
        json!({"new_version": version.to_string()}),
        DEV_MODE,
    );
    let forget =
        Order::new("forgetting cached prefixes", "/reset_prefix_cache", json!({}), DEV_MODE);
    let load = match update {
        WeightUpdate::Folder(folder) => Order::new(
            "loading weights",
            "/collective_rpc",
            json!({"method": "reload_weights", "kwargs": {"weights_path": folder}}),
            DEV_MODE,
        ),
        WeightUpdate::Lora { name, folder } => Order::new(
            "loading an adapter",
            "/v1/load_lora_adapter",
            json!({"lora_name": name, "lora_path": folder, "load_inplace": true}),
            VLLM_LORA,
        ),
    };
    vec![pause, load, forget, name, resume]
}

fn sglang_orders(update: &WeightUpdate, version: u64) -> Vec<Order> {
    let pause =
        Order::new("pausing", "/pause_generation", json!({"mode": "retract"}), SGLANG_ADMIN);
    let resume = Order {
        resumes: true,
        ..Order::new("resuming", "/continue_generation", json!({}), SGLANG_ADMIN)
    };
    match update {
        WeightUpdate::Folder(folder) => {
            let load = Order::new(
                "loading weights",
                SGLANG_UPDATE,
                json!({
                    "model_path": folder, "weight_version": version.to_string(),
                    "flush_cache": true,
                }),
                SGLANG_ADMIN,
            );
            vec![pause, load, resume]
        }
        WeightUpdate::Lora { name, folder } => {
            // A name that is taken is refused; one that is free cannot be unloaded.
            let unload = Order {
                may_fail: true,
                ..Order::new(
                    "unloading the older adapter",
                    "/unload_lora_adapter",
                    json!({"lora_name": name}),
                    SGLANG_LORA,
                )
            };
            let load = Order::new(
                "loading an adapter",
                "/load_lora_adapter",
                json!({"lora_name": name, "lora_path": folder}),
                SGLANG_LORA,
            );
            vec![unload, load]
        }
    }
}
