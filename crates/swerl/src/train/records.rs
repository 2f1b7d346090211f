//! Files of the run: one JSON line per step, and results that a resumed run reads back.
//!
//! `metrics.jsonl` holds nothing that depends on the clock, so two runs with one seed write the
//! same bytes; durations go to `timings.jsonl`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use swerl_grpo::{Advantages, Group, Observer, ObserverError, PhaseTimes, SftMetrics, StepMetrics};
use swerl_rollout::{RolloutObserver, RolloutStats};

use super::live::Live;

/// Appends lines, after dropping those of steps beyond the `done` first, which a resumed run does
/// again. Steps are counted from 1 in these files.
struct Lines {
    file: File,
    path: PathBuf,
}

impl Lines {
    /// The lines kept, parsed, come with it.
    fn open(path: &Path, done: u64) -> Result<(Self, Vec<serde_json::Value>)> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let (mut kept, mut values) = (String::new(), Vec::new());
        for line in text.split_inclusive('\n') {
            let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
            if let Some(value) = value.filter(|v| v["step"].as_u64().is_some_and(|s| s <= done)) {
                kept.push_str(line);
                values.push(value);
            }
        }
        let fail = || format!("cannot write {}", path.display());
        std::fs::write(path, kept).with_context(fail)?;
        let file = OpenOptions::new().append(true).open(path).with_context(fail)?;
        Ok((Self { file, path: path.to_owned() }, values))
    }

    fn push(&mut self, value: &impl Serialize) -> Result<(), ObserverError> {
        let mut line = serde_json::to_string(value).map_err(ObserverError::new)?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|source| {
            ObserverError::new(std::io::Error::new(
                source.kind(),
                format!("cannot write {}: {source}", self.path.display()),
            ))
        })
    }
}

/// Sums over the steps of a phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Tokens that went forward and backward, prompts included; those before a resume too.
    pub trained_tokens: u64,
    /// Tokens sampled; those before a resume too.
    pub sampled_tokens: u64,
    /// Time by part, of this process.
    pub times: PhaseTimes,
}

/// Watches a phase of training: writes its files, moves its bar.
pub(super) struct Recorder<'a> {
    live: &'a Live,
    metrics: Lines,
    timings: Lines,
    rollouts: &'a LastRollouts,
    pub(super) totals: Totals,
    steps: u64,
}

/// The figures of the last collected step, from the rollout source to the recorder.
#[derive(Default)]
pub(super) struct LastRollouts(Mutex<Option<RolloutStats>>);

impl LastRollouts {
    fn get(&self) -> Option<RolloutStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The rollout source's side of [`LastRollouts`].
pub(super) struct RolloutEar<'a> {
    pub(super) last: &'a LastRollouts,
}

impl RolloutObserver for RolloutEar<'_> {
    fn on_collected(&mut self, stats: &RolloutStats) {
        *self.last.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stats.clone());
    }
}

impl<'a> Recorder<'a> {
    /// Files `NAME-metrics.jsonl` and `NAME-timings.jsonl` in `folder`, after the `done` first steps; sums go on from there.
    pub(super) fn new(
        live: &'a Live,
        folder: &Path,
        name: &str,
        done: u64,
        steps: u64,
        rollouts: &'a LastRollouts,
    ) -> Result<Self> {
        let (metrics, known) = Lines::open(&folder.join(format!("{name}-metrics.jsonl")), done)?;
        let (timings, _) = Lines::open(&folder.join(format!("{name}-timings.jsonl")), done)?;
        let last = |field: &str| known.last().and_then(|v| v[field].as_u64()).unwrap_or(0);
        let totals = Totals {
            trained_tokens: last("trained_tokens"),
            sampled_tokens: last("sampled_tokens"),
            times: PhaseTimes::default(),
        };
        Ok(Self { live, metrics, timings, rollouts, totals, steps })
    }

    fn times(&mut self, step: u64, times: &PhaseTimes) -> Result<(), ObserverError> {
        let sum = &mut self.totals.times;
        sum.collect += times.collect;
        sum.gradient += times.gradient;
        sum.update += times.update;
        sum.checkpoint += times.checkpoint;
        self.timings.push(&serde_json::json!({ "step": step, "times": times }))
    }
}

impl Observer for Recorder<'_> {
    fn on_step(&mut self, metrics: &StepMetrics) -> Result<(), ObserverError> {
        let rollouts =
            self.rollouts.get().map(|stats| RolloutStats { sample_s: 0.0, score_s: 0.0, ..stats });
        self.totals.sampled_tokens += rollouts.as_ref().map_or(0, |stats| stats.completion_tokens);
        let line = serde_json::json!({
            "step": metrics.step, "train": metrics.without_times(), "rollouts": rollouts,
            "trained_tokens": self.totals.trained_tokens,
            "sampled_tokens": self.totals.sampled_tokens,
        });
        self.metrics.push(&line)?;
        self.times(metrics.step, &metrics.times)?;
        let Some(stats) = rollouts else { return Ok(()) };
        if metrics.step == 1 {
            for line in doubts(metrics, &stats) {
                self.live.say(&format!("warning: {line}"));
            }
        }
        let rate = stats.completion_tokens as f64 / metrics.times.collect.max(1e-9);
        let message = format!(
            "reward {:+.3}  valid {:3.0}%  exact {:3.0}%  |g| {:.2}  {rate:.0} tok/s",
            stats.reward_mean,
            100.0 * stats.format_valid,
            100.0 * stats.exact,
            metrics.grad_norm,
        );
        self.live.say_plain(&format!("GRPO {:>3}/{}  {message}", metrics.step, self.steps));
        self.live.at(metrics.step, message);
        Ok(())
    }

    fn on_sft_step(&mut self, metrics: &SftMetrics) -> Result<(), ObserverError> {
        self.metrics.push(&metrics.without_times())?;
        self.times(metrics.step, &metrics.times)?;
        self.totals.trained_tokens += metrics.tokens as u64;
        let rate = metrics.tokens as f64 / metrics.times.total().max(1e-9);
        self.live.at(metrics.step, format!("loss {:.3}  {rate:.0} tok/s", metrics.loss));
        Ok(())
    }

    fn on_groups(
        &mut self,
        _: u64,
        groups: &[Group],
        _: &[Advantages],
    ) -> Result<(), ObserverError> {
        for group in groups {
            let answers: usize =
                group.sequences.iter().map(|s| s.tokens.len() - group.prompt_len).sum();
            self.totals.trained_tokens += (group.prompt_len + answers) as u64;
        }
        Ok(())
    }

    fn should_stop(&self) -> bool {
        self.live.stopping()
    }
}

/// What in a first step promises no learning, with the remedy.
fn doubts(metrics: &StepMetrics, stats: &RolloutStats) -> Vec<String> {
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let mut lines = Vec::new();
    if stats.truncated > 0.5 {
        let cut = percent(stats.truncated);
        lines.push(format!("{cut} of the answers were cut off: raise prompt.answer_tokens"));
    }
    if metrics.frac_reward_zero_std > 0.9 {
        lines.push(format!(
            "the rewards are equal within {} of the groups, which teach nothing ({} of the answers have the format): \
             warm-start with [sft], check prompt.template and prompt.markup, or raise grpo.samples",
            percent(metrics.frac_reward_zero_std),
            percent(stats.format_valid),
        ));
    }
    lines
}

/// Reads `path` if a run before this one wrote it.
///
/// # Errors
/// A file that cannot be read, or is not what was written.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let value = serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged: remove it", path.display()))?;
    Ok(Some(value))
}

/// Writes `value` to `path` as JSON, aside first.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let aside = PathBuf::from(name);
    let text = serde_json::to_string_pretty(value)? + "\n";
    let fail = || format!("cannot write {}", path.display());
    std::fs::write(&aside, text).with_context(fail)?;
    std::fs::rename(&aside, path).with_context(fail)
}
