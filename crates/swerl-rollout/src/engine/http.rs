//! One HTTP client: JSON in and out, a time limit over the whole exchange, a pool of connections,
//! and an end that interrupts what is under way.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

/// Longest answer that is read.
const MAX_BODY: u64 = 256 << 20;
/// How much of an engine's complaint is repeated.
const MAX_QUOTE: usize = 300;

/// Why an exchange gave no answer that can be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection, or it broke.
    #[error("no connection: {problem}")]
    Connection {
        /// What the system said.
        problem: String,
    },
    /// The time limit passed, before the answer or within it.
    #[error("no answer within {limit_s} s")]
    Timeout {
        /// The limit in seconds.
        limit_s: f64,
    },
    /// An answer with an error status.
    #[error("status {code}: {body}")]
    Status {
        /// The status.
        code: u16,
        /// The start of what came with it.
        body: String,
    },
    /// An answer that is not the JSON it should be: cut, or of another shape.
    #[error("not an answer of this engine: {problem}")]
    Answer {
        /// What is wrong.
        problem: String,
    },
}

impl Failure {
    /// Whether sending the same again may help. A request that the engine refuses will be refused
    /// again.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Status { code, .. } => matches!(code, 408 | 425 | 429 | 500..=599),
            Self::Connection { .. } | Self::Timeout { .. } | Self::Answer { .. } => true,
        }
    }

    /// Whether the server does not know the route.
    pub(crate) fn is_unknown_route(&self) -> bool {
        matches!(self, Self::Status { code: 404 | 405, .. })
    }

    pub(crate) fn answer(problem: impl Into<String>) -> Self {
        Self::Answer { problem: problem.into() }
    }
}

/// A client with its own connections. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    agent: Agent,
    key: Option<String>,
}

impl Http {
    /// Keeps up to `connections` open to each engine between requests.
    pub(crate) fn new(connect: Duration, connections: usize, key: Option<String>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(connect))
            .max_idle_connections(connections.saturating_mul(4))
            .max_idle_connections_per_host(connections)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("swerl/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.new_agent(), key }
    }

    /// Sends `body`, and reads an answer of JSON. `limit` covers all of it.
    pub(crate) fn post(&self, url: &str, body: &Value, limit: Duration) -> Result<Value, Failure> {
        parse(&self.exchange(url, Some(body), limit)?)
    }

    /// Sends `body`, and reads any answer.
    pub(crate) fn order(&self, url: &str, body: &Value, limit: Duration) -> Result<(), Failure> {
        self.exchange(url, Some(body), limit).map(drop)
    }

    /// Reads an answer of JSON.
    pub(crate) fn get(&self, url: &str, limit: Duration) -> Result<Value, Failure> {
        parse(&self.exchange(url, None, limit)?)
    }

    /// Whether the address answers with success.
    pub(crate) fn is_up(&self, url: &str, limit: Duration) -> Result<(), Failure> {
        self.exchange(url, None, limit).map(drop)
    }

    /// Ends every exchange under way, and all later ones of this client.
    pub(crate) fn shutdown(&self) {
        self.agent.clone().shutdown();
    }

    fn exchange(
        &self,
        url: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let failed = |error| failure(error, limit);
        let key = self.key.as_ref().map(|key| format!("Bearer {key}"));
        let response = match body {
            Some(body) => {
                let mut request = self.agent.post(url).content_type("application/json");
                if let Some(key) = &key {
                    request = request.header("authorization", key);
                }
                request.config().timeout_global(Some(limit)).build().send(body.to_string())
            }
            None => {
                let mut request = self.agent.get(url);
                if let Some(key) = &key {
                    request = request.header("authorization", key);
                }
                request.config().timeout_global(Some(limit)).build().call()
            }
        };
        let mut response = response.map_err(failed)?;
        let code = response.status().as_u16();
        let bytes = response.body_mut().with_config().limit(MAX_BODY).read_to_vec();
        if (200..300).contains(&code) {
            return bytes.map_err(failed);
        }
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        Err(Failure::Status { code, body: quote(&text) })
    }
}

fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        let text = String::from_utf8_lossy(bytes);
        Failure::answer(format!("{error} in {:?}", quote(&text)))
    })
}

/// The start of a text, on one line.
fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

fn failure(error: ureq::Error, limit: Duration) -> Failure {
    match error {
        ureq::Error::Timeout(_) => Failure::Timeout { limit_s: limit.as_secs_f64() },
        ureq::Error::BodyExceedsLimit(most) => {
            Failure::answer(format!("it is longer than {most} bytes"))
        }
        ureq::Error::Protocol(problem) => Failure::answer(problem.to_string()),
        other => Failure::Connection { problem: other.to_string() },
    }
}
