//! Groups of rollouts as the page shows them: what stands in its data blocks.
//!
//! A long text is cut in its middle, which the page says; the diffs are made of the whole text.

use std::collections::BTreeMap;

use serde::Serialize;
use swerl_data::SeedExample;
use swerl_reward::{Edit, apply_edits, format::edit_blocks, parse_answer};

use super::{
    diff::{DiffLine, hunks, whole},
    tokens::Vocabulary,
    trace::{CompletionRecord, PromptRecord, ScoreOrKind},
};

/// Longest text shown whole, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// Most tokens whose log-probs are shown.
const MAX_TOKENS: usize = 8_192;
/// Most edits of an answer that are drawn.
const MAX_EDITS: usize = 64;

/// A prompt with its completions side by side.
#[derive(Debug, Serialize)]
pub(super) struct GroupView {
    step: u64,
    prompt: u64,
    id: String,
    text: String,
    /// Characters left out of `text`.
    cut: usize,
    tokens: usize,
    files: Vec<String>,
    skipped: Vec<String>,
    /// The merged change, where the seed is known.
    oracle: Option<Vec<FileDiff>>,
    samples: Vec<SampleView>,
}

/// The difference of one file.
#[derive(Debug, Serialize)]
struct FileDiff {
    path: String,
    lines: Vec<DiffLine>,
}

/// One completion.
#[derive(Debug, Serialize)]
struct SampleView {
    sample: u64,
    /// The true reward; `None` where it was not judged.
    reward: Option<f64>,
    /// What the trainer was told, where that is something else.
    told: Option<f64>,
    /// What the trainer was told, less its mean over the group.
    relative: Option<f64>,
    advantage: Option<f64>,
    outcome: String,
    reason: String,
    exact: bool,
    finish: String,
    version: u64,
    tokens: usize,
    mean_log_prob: Option<f64>,
    text: String,
    cut: usize,
    thought: Option<String>,
    edits: Vec<FileDiff>,
    /// Edits that are not drawn.
    more_edits: usize,
    /// From what the answer makes of the files to what the oracle does, where the seed is known.
    against: Option<Vec<FileDiff>>,
    similarities: BTreeMap<String, f64>,
    near: Option<Near>,
    ids: Vec<u32>,
    log_probs: Vec<f64>,
    /// Where they differ from `log_probs`.
    raw: Option<Vec<f64>>,
    /// UTF-16 units of `text` of each token, where they are known.
    borders: Option<Vec<u32>>,
}

#[derive(Debug, Serialize)]
struct Near {
    line: usize,
    similarity: f64,
    diff: String,
}

/// A line of the table: group, sample, step, prompt, id, reward, relative, outcome, tokens, mean log-prob,
/// finish, exact, advantage.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a>(
    usize,
    u64,
    u64,
    u64,
    &'a str,
    Option<f64>,
    Option<f64>,
    &'a str,
    usize,
    Option<f64>,
    &'a str,
    bool,
    Option<f64>,
);

impl GroupView {
    /// Makes the view of a group.
    pub(super) fn new(
        prompt: PromptRecord,
        completions: Vec<CompletionRecord>,
        seed: Option<&SeedExample>,
        vocabulary: Option<&Vocabulary>,
    ) -> Self {
        let told: Vec<f64> =
            completions.iter().filter_map(|completion| completion.reward).collect();
        let mean = told.iter().sum::<f64>() / told.len().max(1) as f64;
        let files = seed.map(Files::of);
        let (text, cut) = shortened(prompt.text);
        Self {
            step: prompt.step,
            prompt: prompt.prompt,
            id: prompt.id,
            text,
            cut,
            tokens: prompt.ids.len(),
            files: prompt.files,
            skipped: prompt.skipped,
            oracle: files.as_ref().map(Files::oracle),
            samples: completions
                .into_iter()
                .map(|completion| SampleView::new(completion, mean, files.as_ref(), vocabulary))
                .collect(),
        }
    }

    /// Lines of the table, as group number `group` of the page.
    pub(super) fn rows(&self, group: usize) -> impl Iterator<Item = Row<'_>> {
        self.samples.iter().map(move |sample| {
            Row(
                group,
                sample.sample,
                self.step,
                self.prompt,
                &self.id,
                sample.reward,
                sample.relative,
                &sample.outcome,
                sample.tokens,
                sample.mean_log_prob,
                &sample.finish,
                sample.exact,
                sample.advantage,
            )
        })
    }
}

impl SampleView {
    fn new(
        mut completion: CompletionRecord,
        mean: f64,
        files: Option<&Files<'_>>,
        vocabulary: Option<&Vocabulary>,
    ) -> Self {
        // An answer that breaks the format can still hold edits; they are drawn, not applied.
        let edits: Vec<Edit> = parse_answer(&completion.text)
            .map_or_else(|_| edit_blocks(&completion.text).collect(), |answer| answer.edits);
        let tokens = completion.ids.len();
        let borders = (tokens <= MAX_TOKENS && completion.text.len() <= MAX_TEXT)
            .then(|| vocabulary?.borders(&completion.ids, &completion.text))
            .flatten();
        completion.ids.truncate(MAX_TOKENS);
        let mean_log_prob = (tokens > 0 && completion.log_probs.len() == tokens).then(|| {
            rounded(completion.log_probs.iter().map(|p| f64::from(*p)).sum::<f64>() / tokens as f64)
        });
        let shown = |values: &[f32]| -> Vec<f64> {
            values.iter().take(MAX_TOKENS).map(|value| rounded(f64::from(*value))).collect()
        };
        let (log_probs, raw) = (shown(&completion.log_probs), shown(&completion.raw_log_probs));
        let judged = completion.reward.is_some();
        let drawn = edits.iter().take(MAX_EDITS).map(|edit| FileDiff {
            path: edit.path.clone(),
            lines: whole(&edit.search, &edit.replace),
        });
        let mut view = Self {
            sample: completion.sample,
            reward: None,
            told: None,
            relative: completion.reward.map(|reward| rounded(reward - mean)),
            advantage: completion.advantage.map(rounded),
            outcome: String::new(),
            reason: String::new(),
            exact: false,
            finish: completion.finish,
            version: completion.weights_version,
            tokens,
            mean_log_prob,
            edits: drawn.collect(),
            more_edits: edits.len().saturating_sub(MAX_EDITS),
            text: String::new(),
            cut: 0,
            thought: None,
            against: None,
            similarities: BTreeMap::new(),
            near: None,
            ids: completion.ids,
            raw: (raw != log_probs && !raw.is_empty()).then_some(raw),
            log_probs,
            borders,
        };
        let truth = match completion.score {
            ScoreOrKind::Known(score) => {
                view.outcome = score.outcome.kind().to_owned();
                view.reason =
                    if score.is_valid() { String::new() } else { score.outcome.to_string() };
                view.exact = judged && score.is_exact();
                if score.is_valid() {
                    view.against = files.and_then(|files| files.against(&edits));
                }
                view.near = score.near_miss.map(|near| Near {
                    line: near.line,
                    similarity: near.similarity,
                    diff: near.diff,
                });
                view.similarities = score.similarities;
                view.thought = score.thought.map(|thought| shortened(thought).0);
                score.reward
            }
            ScoreOrKind::Unknown { reward, outcome } => {
                view.reason = "an outcome that this program does not know".into();
                view.outcome = outcome.kind;
                reward
            }
        };
        if judged {
            view.reward = Some(truth);
            view.told = completion.reward.filter(|told| *told != truth);
        } else {
            view.outcome = "unjudged".into();
            view.reason = "it could not be judged: no reward, left out of mean and loss".into();
        }
        (view.text, view.cut) = shortened(completion.text);
        view
    }
}

/// The files of a seed before and after the merged change.
struct Files<'a> {
    before: BTreeMap<String, String>,
    after: &'a BTreeMap<String, String>,
}

impl<'a> Files<'a> {
    fn of(seed: &'a SeedExample) -> Self {
        let before = seed.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
        Self { before, after: &seed.oracle }
    }

    fn oracle(&self) -> Vec<FileDiff> {
        let old = |path: &String| self.before.get(path).map_or("", String::as_str);
        self.after
            .iter()
            .map(|(path, new)| FileDiff { path: path.clone(), lines: hunks(old(path), new) })
            .collect()
    }

    /// Files that the edits leave otherwise than the oracle does; `None` when the edits do not apply to
    /// the seed's files.
    fn against(&self, edits: &[Edit]) -> Option<Vec<FileDiff>> {
        let predicted = apply_edits(&self.before, edits).ok()?;
        let of = |texts: &BTreeMap<String, String>, path: &String| {
            texts.get(path).or_else(|| self.before.get(path)).cloned().unwrap_or_default()
        };
        let mut paths: Vec<&String> = predicted.keys().chain(self.after.keys()).collect();
        paths.sort();
        paths.dedup();
        let differences = paths.into_iter().map(|path| FileDiff {
            path: path.clone(),
            lines: hunks(&of(&predicted, path), &of(self.after, path)),
        });
        Some(differences.filter(|difference| !difference.lines.is_empty()).collect())
    }
}

/// `text`, without its middle where it is too long, and how many characters that leaves out.
fn shortened(text: String) -> (String, usize) {
    if text.len() <= MAX_TEXT {
        return (text, 0);
    }
    let head = (0..=MAX_TEXT / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - MAX_TEXT / 2..text.len()).find(|at| text.is_char_boundary(*at));
    let tail = tail.unwrap_or(text.len());
    let cut = text[head..tail].chars().count();
    (format!("{}\n[... {cut} characters left out ...]\n{}", &text[..head], &text[tail..]), cut)
}

/// To four decimals, and no negative zero.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completion(value: serde_json::Value) -> CompletionRecord {
        serde_json::from_value(value).unwrap()
    }

    fn group(rewards: &[Option<f64>]) -> GroupView {
        let prompt = json!({"step": 2, "prompt": 3, "id": "o/r#1", "text": "fix it"});
        let completions = rewards.iter().zip(0..).map(|(reward, sample)| {
            completion(json!({
                "step": 2, "prompt": 3, "sample": sample, "ids": [1, 2], "log_probs": [-0.5, -1.5],
                "text": "no tags", "reward": reward,
                "score": {"reward": -1.0, "outcome": {"kind": "tags", "tag": "<think>", "count": 0},
                          "similarities": {}},
            }))
        });
        let prompt = serde_json::from_value(prompt).unwrap();
        GroupView::new(prompt, completions.collect(), None, None)
    }

    #[test]
    fn relative_rewards_leave_the_unjudged_out() {
        let view = group(&[Some(1.0), Some(0.0), None]);
        let relative: Vec<_> = view.samples.iter().map(|sample| sample.relative).collect();
        assert_eq!(relative, [Some(0.5), Some(-0.5), None]);
        assert_eq!(view.samples[2].reward, None);
        assert_eq!(view.samples[2].outcome, "unjudged");
        assert_eq!(view.samples[0].told, Some(1.0), "the truth is -1");
        assert_eq!(view.samples[0].mean_log_prob, Some(-1.0));
        assert!(view.samples[0].reason.contains("<think>"), "{}", view.samples[0].reason);
    }

    #[test]
    fn an_unknown_outcome_keeps_its_reward() {
        let record = completion(json!({
            "step": 0, "prompt": 0, "sample": 0, "ids": [], "text": "", "reward": 0.25,
            "score": {"reward": 0.25, "outcome": {"kind": "new", "x": 1}, "similarities": {}},
        }));
        let view = SampleView::new(record, 0.0, None, None);
        assert_eq!((view.reward, view.outcome.as_str()), (Some(0.25), "new"));
        assert_eq!((view.mean_log_prob, view.told), (None, None));
    }

    #[test]
    fn long_texts_lose_their_middle() {
        let text = "é".repeat(MAX_TEXT);
        let (short, cut) = shortened(text);
        assert_eq!(cut, MAX_TEXT / 2);
        assert!(short.len() < MAX_TEXT + 100 && short.contains("characters left out"));
        assert_eq!(shortened("short".into()), ("short".into(), 0));
    }

    #[test]
    fn rounding_has_no_negative_zero() {
        assert_eq!(rounded(-0.000_01).to_bits(), 0.0_f64.to_bits());
        assert_eq!(rounded(-1.234_56), -1.2346);
    }
}
