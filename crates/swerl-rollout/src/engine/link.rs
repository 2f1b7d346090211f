//! The way to the engines: which URL, how often, how long, and what the last failure was.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::error::EngineError;
use super::http::{Failure, Http};
use super::retry::{Halt, backoff};
use super::settings::EngineSettings;

/// What an exchange comes to: a value, or the route and what failed there.
pub(crate) type Exchanged<T> = Result<T, (&'static str, Failure)>;

/// Settings, connections, and what went wrong last.
#[derive(Debug)]
pub(crate) struct Link {
    settings: EngineSettings,
    key: Option<String>,
    http: Http,
    last: Mutex<Option<Failure>>,
}

impl Link {
    /// No connection is made yet.
    pub(crate) fn new(settings: EngineSettings, key: Option<String>) -> Self {
        let http = client(&settings, key.as_ref());
        Self { settings, key, http, last: Mutex::new(None) }
    }

    pub(crate) fn settings(&self) -> &EngineSettings {
        &self.settings
    }

    /// Breaks off what is under way. Nothing works until [`Link::reconnect`].
    pub(crate) fn interrupt(&self) {
        self.http.shutdown();
    }

    pub(crate) fn reconnect(&mut self) {
        self.http = client(&self.settings, self.key.as_ref());
    }

    pub(crate) fn last_failure(&self) -> Option<Failure> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn post(&self, url: &str, route: &'static str, body: &Value) -> Exchanged<Value> {
        let limit = self.settings.request_time();
        self.http.post(&format!("{url}{route}"), body, limit).map_err(|failure| (route, failure))
    }

    /// Sends an order whose answer says nothing.
    pub(crate) fn order(&self, url: &str, route: &'static str, body: &Value) -> Exchanged<()> {
        let limit = self.settings.request_time();
        self.http.order(&format!("{url}{route}"), body, limit).map_err(|failure| (route, failure))
    }

    pub(crate) fn get(&self, url: &str, route: &'static str) -> Exchanged<Value> {
        let limit = self.settings.request_time();
        self.http.get(&format!("{url}{route}"), limit).map_err(|failure| (route, failure))
    }

    pub(crate) fn is_up(&self, url: &str, route: &'static str) -> Exchanged<()> {
        let limit = self.settings.request_time();
        self.http.is_up(&format!("{url}{route}"), limit).map_err(|failure| (route, failure))
    }

    /// Tries `exchange` where prompt `number` goes, at later attempts with the next engine.
    pub(crate) fn at<T>(
        &self,
        halt: &Halt,
        what: &str,
        number: u64,
        exchange: impl Fn(&str) -> Exchanged<T>,
    ) -> Result<T, EngineError> {
        self.attempts(halt, what, &|attempt| self.settings.data_url(number, attempt), &exchange)
    }

    /// Tries `exchange` with one engine.
    pub(crate) fn with<T>(
        &self,
        url: &str,
        what: &str,
        exchange: impl Fn(&str) -> Exchanged<T>,
    ) -> Result<T, EngineError> {
        self.attempts(&Halt::default(), what, &|_| url, &exchange)
    }

    fn attempts<'u, T>(
        &self,
        halt: &Halt,
        what: &str,
        url: &dyn Fn(u32) -> &'u str,
        exchange: &dyn Fn(&str) -> Exchanged<T>,
    ) -> Result<T, EngineError> {
        let down = Duration::from_secs_f64(self.settings.down_s);
        // Tries in all choose engine and wait; those that reached one count as attempts.
        let (mut tries, mut reached, mut unreachable) = (0, 0, None);
        loop {
            if halt.is_stopped() {
                return Err(EngineError::Interrupted);
            }
            let url = url(tries);
            let (route, failure) = match exchange(url) {
                Ok(value) => return Ok(value),
                Err(_) if halt.is_stopped() => return Err(EngineError::Interrupted),
                Err(failed) => failed,
            };
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
            tries += 1;
            let give_up = if let Failure::Connection { .. } = failure {
                unreachable.get_or_insert_with(Instant::now).elapsed() >= down
            } else {
                unreachable = None;
                reached += 1;
                !failure.is_transient() || reached >= self.settings.attempts
            };
            if give_up {
                return Err(EngineError::Request {
                    url: url.to_owned(),
                    route: route.to_owned(),
                    what: what.to_owned(),
                    attempts: tries,
                    source: failure,
                });
            }
            if !halt.sleep(backoff(self.settings.backoff_s, tries - 1, share(what, tries))) {
                return Err(EngineError::Interrupted);
            }
        }
    }
}

fn client(settings: &EngineSettings, key: Option<&String>) -> Http {
    let connect = Duration::from_secs_f64(settings.connect_s);
    Http::new(connect, settings.max_in_flight, key.cloned())
}

/// A number in [0, 1) that differs between waiters: FNV-1a of their name.
fn share(what: &str, tries: u32) -> f64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ u64::from(tries);
    let hash = what
        .bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    f64::from(u32::try_from(hash >> 32).expect("32 bits are left")) / (f64::from(u32::MAX) + 1.0)
}
