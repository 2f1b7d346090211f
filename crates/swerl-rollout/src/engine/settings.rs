//! What has to be known of an inference engine before it is talked to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::EngineError;

/// The program behind the URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EngineKind {
    /// vLLM 0.32 or later: token ids in and out, reload of weights, LoRA.
    Vllm,
    /// SGLang 0.5 or later: the same.
    Sglang,
    /// Any server with `/v1/completions` and `/v1/chat/completions`. It gives texts without their
    /// token ids, so it can be evaluated but not trained on.
    OpenAi,
}

/// Where engines are and how long they are waited for. Times are seconds of wall clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// The program.
    pub kind: EngineKind,
    /// Each engine's own base URL, such as `http://127.0.0.1:8000`. Orders to load weights go to
    /// every one of them.
    pub urls: Vec<String>,
    /// Base URL of a router before the engines, for prompts. Without one, prompts go to the engines
    /// in turn; all samples of a prompt to the same, where its prefix is cached.
    pub router: Option<String>,
    /// The name that the engines serve the model by.
    pub model: String,
    /// Most requests at once, over all engines; at least 1. Each asks for one completion.
    pub max_in_flight: usize,
    /// Longest time for one request, its answer read to the end.
    pub request_s: f64,
    /// Longest time for all completions of one [`crate::SampleRequest`].
    pub deadline_s: f64,
    /// Longest time to open a connection.
    pub connect_s: f64,
    /// How often a request is sent before it counts as failed; at least 1.
    pub attempts: u32,
    /// Wait before the second attempt; doubles with each, up to 30 s, less a share drawn by counter.
    pub backoff_s: f64,
    /// How long an engine may be unreachable, say while it is restarted, before its requests fail.
    /// Attempts without a connection count against this time alone.
    pub down_s: f64,
    /// After so long without any completion the observer is told which prompts are pending.
    pub stall_s: f64,
    /// Most optimizer steps that the weights behind a training token may be older than the
    /// trainer's. 0: on-policy.
    pub max_staleness: u64,
}

impl EngineSettings {
    /// Settings that fit a server on this machine or in its rack.
    #[must_use]
    pub fn new(kind: EngineKind, urls: &[&str], model: &str) -> Self {
        Self {
            kind,
            urls: urls.iter().map(|&url| url.to_owned()).collect(),
            router: None,
            model: model.to_owned(),
            max_in_flight: 64,
            request_s: 600.0,
            deadline_s: 3600.0,
            connect_s: 10.0,
            attempts: 5,
            backoff_s: 0.5,
            down_s: 300.0,
            stall_s: 60.0,
            max_staleness: 0,
        }
    }

    /// Checks the ranges and the form of the URLs.
    ///
    /// # Errors
    /// [`EngineError::Settings`], naming the field.
    pub fn validate(&self) -> Result<(), EngineError> {
        let refuse = |field, problem: String| Err(EngineError::Settings { field, problem });
        if self.urls.is_empty() {
            return refuse("urls", "there is none".to_owned());
        }
        for url in self.urls.iter().chain(&self.router) {
            let plain = url.starts_with("http://") || url.starts_with("https://");
            if !plain {
                return refuse("urls", format!("{url:?} must begin with http:// or https://"));
            }
            if url.starts_with("https://") && !cfg!(feature = "engine-tls") {
                return refuse("urls", format!("{url:?} needs the feature engine-tls"));
            }
        }
        if self.model.is_empty() {
            return refuse("model", "it is empty".to_owned());
        }
        if self.max_in_flight == 0 {
            return refuse("max_in_flight", "it is 0, it must be at least 1".to_owned());
        }
        if self.attempts == 0 {
            return refuse("attempts", "it is 0, it must be at least 1".to_owned());
        }
        for (field, seconds) in [
            ("request_s", self.request_s),
            ("deadline_s", self.deadline_s),
            ("connect_s", self.connect_s),
            ("stall_s", self.stall_s),
        ] {
            if !(seconds > 0.0 && seconds <= MOST_SECONDS) {
                return refuse(field, format!("it is {seconds}, it must be above 0, at most 1e7"));
            }
        }
        for (field, seconds) in [("backoff_s", self.backoff_s), ("down_s", self.down_s)] {
            if !(0.0..=MOST_SECONDS).contains(&seconds) {
                return refuse(field, format!("it is {seconds}, it must be 0 to 1e7"));
            }
        }
        Ok(())
    }

    /// Where the prompt of this number is sent at its first attempt, and at later ones.
    pub(crate) fn data_url(&self, prompt: u64, attempt: u32) -> &str {
        match &self.router {
            Some(router) => trimmed(router),
            None => {
                let place = (prompt + u64::from(attempt)) % self.urls.len() as u64;
                trimmed(&self.urls[usize::try_from(place).expect("an index of a list")])
            }
        }
    }

    /// Every engine's own URL.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &str> {
        self.urls.iter().map(|url| trimmed(url))
    }

    pub(crate) fn request_time(&self) -> Duration {
        Duration::from_secs_f64(self.request_s)
    }
}

/// Longest time that a setting may name.
const MOST_SECONDS: f64 = 1e7;

fn trimmed(url: &str) -> &str {
    url.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let good = EngineSettings::new(EngineKind::Vllm, &["http://a:1/"], "m");
        assert!(good.validate().is_ok());
        let of = |field: &str, change: fn(&mut EngineSettings)| {
            let mut settings = good.clone();
            change(&mut settings);
            let error = settings.validate().expect_err("refused").to_string();
            assert!(error.contains(field), "{error}");
        };
        of("urls", |s| s.urls.clear());
        of("urls", |s| s.urls = vec!["localhost:8000".into()]);
        of("urls", |s| s.router = Some("ftp://x".into()));
        of("model", |s| s.model.clear());
        of("max_in_flight", |s| s.max_in_flight = 0);
        of("attempts", |s| s.attempts = 0);
        of("request_s", |s| s.request_s = 0.0);
        of("deadline_s", |s| s.deadline_s = f64::NAN);
        of("connect_s", |s| s.connect_s = f64::INFINITY);
        of("backoff_s", |s| s.backoff_s = -1.0);
        of("down_s", |s| s.down_s = f64::NAN);
    }

    #[test]
    fn samples_of_a_prompt_share_an_engine_and_attempts_go_on_to_the_next() {
        let settings = EngineSettings::new(EngineKind::Vllm, &["http://a/", "http://b"], "m");
        assert_eq!(settings.data_url(0, 0), "http://a");
        assert_eq!(settings.data_url(1, 0), "http://b");
        assert_eq!(settings.data_url(1, 1), "http://a");
        let routed = EngineSettings { router: Some("http://r/".into()), ..settings };
        assert_eq!(routed.data_url(1, 1), "http://r");
        assert_eq!(routed.engines().collect::<Vec<_>>(), ["http://a", "http://b"]);
    }
}
