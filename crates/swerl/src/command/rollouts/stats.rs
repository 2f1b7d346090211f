//! `swerl rollouts stats`: a line a step, and the sum of all.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::number;
use super::trace::{Completion, Record, Trace};
use crate::{cli::RolloutStatsArgs, output::Output};

/// Sums over completions.
#[derive(Debug, Default, Clone)]
struct Sums {
    prompts: u64,
    completions: u64,
    unjudged: u64,
    reward: f64,
    squares: f64,
    valid: u64,
    exact: u64,
    valid_reward: f64,
    truncated: u64,
    tokens: u64,
    log_prob: f64,
    /// Prompts with two judged completions or more, and those of them whose rewards are all equal.
    groups: u64,
    equal_groups: u64,
    outcomes: BTreeMap<&'static str, u64>,
}

/// Smallest and largest reward of the prompt being read, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    count: u64,
    low: f64,
    high: f64,
}

/// What is printed. Shares and means are over judged completions, `null` where there is none.
#[derive(Debug, Serialize)]
struct Report {
    step: Option<u64>,
    prompts: u64,
    completions: u64,
    unjudged: u64,
    reward_mean: Option<f64>,
    reward_std: Option<f64>,
    format_valid: Option<f64>,
    exact: Option<f64>,
    valid_similarity: Option<f64>,
    truncated: Option<f64>,
    equal_reward_groups: Option<f64>,
    tokens: u64,
    tokens_per_completion: Option<f64>,
    log_prob_per_token: Option<f64>,
    outcomes: BTreeMap<&'static str, u64>,
}

/// Rewards closer than this are equal: a similarity may differ in its last bit.
const EQUAL: f64 = 1e-9;

/// Runs the command.
pub(super) fn run(args: &RolloutStatsArgs, out: &mut Output) -> Result<()> {
    let mut steps: BTreeMap<u64, Sums> = BTreeMap::new();
    let mut all = Sums::default();
    let mut open: Option<(u64, Spread)> = None;
    let close = |steps: &mut BTreeMap<u64, Sums>, all: &mut Sums, open: Option<(u64, Spread)>| {
        if let Some((step, spread)) = open.filter(|(_, spread)| spread.count > 1) {
            for sums in [steps.entry(step).or_default(), &mut *all] {
                sums.groups += 1;
                sums.equal_groups += u64::from(spread.high - spread.low < EQUAL);
            }
        }
    };
    for record in Trace::open(&args.trace)? {
        match record? {
            Record::Prompt(prompt) => {
                close(&mut steps, &mut all, open.take());
                open = Some((prompt.step, Spread::default()));
                steps.entry(prompt.step).or_default().prompts += 1;
                all.prompts += 1;
            }
            Record::Completion(completion) => {
                steps.entry(completion.step).or_default().add(&completion);
                all.add(&completion);
                if let (Some((_, spread)), Some(reward)) = (&mut open, completion.reward) {
                    spread.add(reward);
                }
            }
        }
    }
    close(&mut steps, &mut all, open.take());
    if all.completions == 0 {
        bail!("{}: no completions", args.trace.display());
    }
    let reports: Vec<Report> = steps.iter().map(|(step, sums)| sums.report(Some(*step))).collect();
    if args.json {
        for report in reports.iter().chain([&all.report(None)]) {
            out.line(&serde_json::to_string(report).context("writing the statistics")?)?;
        }
        return Ok(());
    }
    out.line(&format!(
        "{:>7} {:>7} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8}",
        "step",
        "samples",
        "unjudged",
        "reward",
        "std",
        "valid",
        "exact",
        "cut",
        "equal",
        "tokens",
        "log-prob"
    ))?;
    for report in &reports {
        report.print(out)?;
    }
    let total = all.report(None);
    total.print(out)?;
    let outcomes: Vec<String> =
        total.outcomes.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    out.line(&format!("outcomes: {}", outcomes.join(", ")))
}

impl Spread {
    fn add(&mut self, reward: f64) {
        let first = self.count == 0;
        self.low = if first { reward } else { self.low.min(reward) };
        self.high = if first { reward } else { self.high.max(reward) };
        self.count += 1;
    }
}

impl Sums {
    fn add(&mut self, completion: &Completion) {
        self.completions += 1;
        self.tokens += completion.ids.len() as u64;
        self.log_prob += completion.log_probs.iter().map(|value| f64::from(*value)).sum::<f64>();
        let Some(reward) = completion.reward else {
            self.unjudged += 1;
            return;
        };
        self.reward += reward;
        self.squares += reward * reward;
        self.truncated += u64::from(completion.finish == "length");
        if completion.score.is_valid() {
            self.valid += 1;
            self.valid_reward += completion.score.reward;
        }
        self.exact += u64::from(completion.score.is_exact());
        *self.outcomes.entry(completion.score.outcome.kind()).or_default() += 1;
    }

    fn report(&self, step: Option<u64>) -> Report {
        let judged = self.completions - self.unjudged;
        let over = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        let mean = over(self.reward, judged);
        let variance = over(self.squares, judged).zip(mean).map(|(squares, m)| squares - m * m);
        Report {
            step,
            prompts: self.prompts,
            completions: self.completions,
            unjudged: self.unjudged,
            reward_mean: mean,
            reward_std: variance.map(|variance| variance.max(0.0).sqrt()),
            format_valid: over(self.valid as f64, judged),
            exact: over(self.exact as f64, judged),
            valid_similarity: over(self.valid_reward, self.valid),
            truncated: over(self.truncated as f64, judged),
            equal_reward_groups: over(self.equal_groups as f64, self.groups),
            tokens: self.tokens,
            tokens_per_completion: over(self.tokens as f64, self.completions),
            log_prob_per_token: over(self.log_prob, self.tokens),
            outcomes: self.outcomes.clone(),
        }
    }
}

impl Report {
    fn print(&self, out: &mut Output) -> Result<()> {
        let share =
            |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{:.1}%", v * 100.0));
        let mean = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1}"));
        out.line(&format!(
            "{:>7} {:>7} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8}",
            self.step.map_or("all".to_owned(), |step| step.to_string()),
            self.completions,
            self.unjudged,
            number(self.reward_mean),
            number(self.reward_std),
            share(self.format_valid),
            share(self.exact),
            share(self.truncated),
            share(self.equal_reward_groups),
            mean(self.tokens_per_completion),
            number(self.log_prob_per_token),
        ))
    }
}
