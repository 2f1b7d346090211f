//! The figures at the end: a table for people, JSON for programs.

use serde::Serialize;
use swerl_rollout::Evaluation;

use super::records::Totals;

/// What was measured.
pub(super) struct Measured<'a> {
    pub(super) base: &'a Evaluation,
    pub(super) before: &'a Evaluation,
    pub(super) after: &'a Evaluation,
    pub(super) control: Option<&'a Evaluation>,
    pub(super) steps: u64,
    pub(super) totals: &'a Totals,
    pub(super) wall_s: f64,
    pub(super) phases: Vec<(&'static str, f64)>,
}

/// The figures of a run. Shares are in [0, 1]; "before" is after SFT, "after" is after GRPO.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Share of valid answers of the policy that was given.
    pub format_base: f64,
    /// The same before GRPO.
    pub format_before: f64,
    /// The same after GRPO.
    pub format_after: f64,
    /// Mean reward of the policy that was given.
    pub reward_base: f64,
    /// The same before GRPO.
    pub reward_before: f64,
    /// The same after GRPO.
    pub reward_after: f64,
    /// Share of answers equal to the merged patch, of the policy that was given.
    pub exact_base: f64,
    /// The same before GRPO.
    pub exact_before: f64,
    /// The same after GRPO.
    pub exact_after: f64,
    /// Mean similarity of valid answers of the policy that was given.
    pub valid_similarity_base: Option<f64>,
    /// The same before GRPO.
    pub valid_similarity_before: Option<f64>,
    /// The same after GRPO.
    pub valid_similarity_after: Option<f64>,
    /// Share of valid answers of the control: fine-tuning carried on.
    pub format_sft_control: Option<f64>,
    /// Mean reward of the control.
    pub reward_sft_control: Option<f64>,
    /// Share of exact answers of the control.
    pub exact_sft_control: Option<f64>,
    /// Mean similarity of valid answers of the control.
    pub valid_similarity_sft_control: Option<f64>,
    /// 95% confidence interval of the mean paired difference, after minus before.
    pub reward_ci95: Option<[f64; 2]>,
    /// The part of the rise that comes from more valid answers, at the similarity of before.
    pub rise_from_format: f64,
    /// The rest: valid answers that are closer to the merged patch.
    pub rise_from_similarity: f64,
    /// Held-out seeds.
    pub held_out: usize,
    /// GRPO steps.
    pub steps: u64,
    /// Seconds of this process.
    pub wall_s: f64,
    /// Peak resident memory in MiB, where the system tells.
    pub peak_rss_mb: Option<f64>,
    /// Tokens sampled per second of sampling and scoring in GRPO.
    pub tokens_per_s: f64,
    /// Seconds by part.
    pub seconds: Vec<(String, f64)>,
}

impl Summary {
    pub(super) fn new(m: &Measured<'_>) -> Self {
        let rise = m.after.reward_mean() - m.before.reward_mean();
        // reward = valid * similarity - (1 - valid), so a share more of valid answers is worth
        // (1 + similarity) each.
        let worth = 1.0 + m.before.valid_similarity().unwrap_or(0.0);
        let from_format = (m.after.format_valid() - m.before.format_valid()) * worth;
        Self {
            format_base: m.base.format_valid(),
            format_before: m.before.format_valid(),
            format_after: m.after.format_valid(),
            reward_base: m.base.reward_mean(),
            reward_before: m.before.reward_mean(),
            reward_after: m.after.reward_mean(),
            exact_base: m.base.exact(),
            exact_before: m.before.exact(),
            exact_after: m.after.exact(),
            valid_similarity_base: m.base.valid_similarity(),
            valid_similarity_before: m.before.valid_similarity(),
            valid_similarity_after: m.after.valid_similarity(),
            format_sft_control: m.control.map(Evaluation::format_valid),
            reward_sft_control: m.control.map(Evaluation::reward_mean),
            exact_sft_control: m.control.map(Evaluation::exact),
            valid_similarity_sft_control: m.control.and_then(Evaluation::valid_similarity),
            reward_ci95: m.before.compare(m.after).map(|p| [p.difference.low, p.difference.high]),
            rise_from_format: from_format,
            rise_from_similarity: rise - from_format,
            held_out: m.after.results.len(),
            steps: m.steps,
            wall_s: m.wall_s,
            peak_rss_mb: peak_rss_mb(),
            tokens_per_s: m.totals.sampled_tokens as f64 / m.totals.times.collect.max(1e-9),
            seconds: m.phases.iter().map(|(name, s)| ((*name).to_owned(), *s)).collect(),
        }
    }

    /// The table that a run ends with.
    pub fn table(&self) -> String {
        let percent = |x: f64| format!("{:.1}%", 100.0 * x);
        let similarity = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.3}"));
        let mut rows = vec![[
            "".to_owned(),
            "valid".into(),
            "reward".into(),
            "exact fix".into(),
            "similarity of valid".into(),
        ]];
        let mut row = |name: &str, valid: f64, reward: f64, exact: f64, close: Option<f64>| {
            rows.push([
                name.to_owned(),
                percent(valid),
                format!("{reward:+.3}"),
                percent(exact),
                similarity(close),
            ]);
        };
        row(
            "base",
            self.format_base,
            self.reward_base,
            self.exact_base,
            self.valid_similarity_base,
        );
        row(
            "after SFT",
            self.format_before,
            self.reward_before,
            self.exact_before,
            self.valid_similarity_before,
        );
        row(
            "after GRPO",
            self.format_after,
            self.reward_after,
            self.exact_after,
            self.valid_similarity_after,
        );
        if let (Some(valid), Some(reward), Some(exact)) =
            (self.format_sft_control, self.reward_sft_control, self.exact_sft_control)
        {
            row("SFT carried on", valid, reward, exact, self.valid_similarity_sft_control);
        }
        let mut text =
            format!("\n{} held-out seeds, one sample each at temperature 1\n", self.held_out);
        for [name, valid, reward, exact, close] in rows {
            text += &format!("{name:<16}{valid:>9}{reward:>9}{exact:>11}{close:>21}\n");
        }
        let rise = self.reward_after - self.reward_before;
        let interval = self.reward_ci95.map_or(String::new(), |[low, high]| {
            format!(" (95% CI {low:+.3} to {high:+.3}, paired)")
        });
        text += &format!(
            "rise by GRPO {rise:+.3}{interval}: {:+.3} by format, {:+.3} by similarity\n\n",
            self.rise_from_format, self.rise_from_similarity
        );
        for (name, seconds) in &self.seconds {
            text += &format!("{name:<34}{seconds:>8.1} s\n");
        }
        let memory = self.peak_rss_mb.map_or("unknown".to_owned(), |mb| format!("{mb:.0} MB"));
        text + &format!(
            "{:<34}{:>8.1} s, peak memory {memory}, {:.0} tokens/s sampled\n",
            "together", self.wall_s, self.tokens_per_s
        )
    }
}

/// Peak resident memory of this process, where the system tells.
fn peak_rss_mb() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}
