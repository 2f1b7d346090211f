//! What can go wrong between this process and an engine, each with what to do about it.

use std::path::PathBuf;

use super::http::Failure;

/// Why an engine could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A setting out of range.
    #[error("engine settings, {field}: {problem}")]
    Settings {
        /// The field of [`super::EngineSettings`].
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The engine runs, but with a configuration that would give wrong data.
    #[error("{url}: {problem}; {remedy}")]
    Refused {
        /// The engine.
        url: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A request failed at every attempt.
    #[error("{url}{route}: {what} failed {attempts} times")]
    Request {
        /// The engine.
        url: String,
        /// The path of the URL.
        route: String,
        /// Prompt and sample, or the order given.
        what: String,
        /// How often it was sent.
        attempts: u32,
        /// What happened at the last attempt.
        source: Failure,
    },
    /// The deadline passed before every completion was there.
    #[error(
        "{done} of {jobs} completions after {waited_s:.0} s, the deadline; pending: {pending}; raise deadline_s or look at the engine"
    )]
    Deadline {
        /// Completions that came.
        done: usize,
        /// Completions asked for.
        jobs: usize,
        /// Seconds waited.
        waited_s: f64,
        /// The prompts that are missing.
        pending: String,
        /// What the last failed attempt said, if one failed.
        source: Option<Failure>,
    },
    /// A training token came from weights that are too old.
    #[error(
        "{id}, sample {sample}: tokens of weights version {found}, the trainer is at {current} and allows {allowed} steps between; load the weights into the engines before sampling, or raise max_staleness"
    )]
    Stale {
        /// The prompt's name.
        id: String,
        /// Number of the sample.
        sample: u64,
        /// The oldest version in it.
        found: u64,
        /// The trainer's version.
        current: u64,
        /// Most steps between the two.
        allowed: u64,
    },
    /// After loading weights the engine gives other log-probs than the trainer.
    #[error(
        "{url}: after loading version {version} token {position} of the probe has log-prob {found}, the trainer says {expected} (tolerance {tolerance}); the engine does not hold these weights, so the run stops here"
    )]
    Probe {
        /// The engine.
        url: String,
        /// The version that was loaded.
        version: u64,
        /// The token that differs most, from 0.
        position: usize,
        /// The engine's natural log-prob.
        found: f32,
        /// The trainer's.
        expected: f32,
        /// Largest difference allowed.
        tolerance: f32,
    },
    /// Weights could not be written for the engines.
    #[error("cannot {action} {}", path.display())]
    Folder {
        /// What was tried.
        action: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The policy could not be written or scored.
    #[error("the policy could not be {action} for the engines")]
    Policy {
        /// `written` or `scored`.
        action: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The observer asked to stop.
    #[error("sampling was interrupted")]
    Interrupted,
}
