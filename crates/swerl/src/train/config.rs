//! The configuration of a run: TOML with strict keys.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use swerl_grpo::{OptimizerRule, Preset};
use swerl_model::LoraConfig;

use super::device::Backend;

/// Everything that determines a run. A key that is not listed here is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeConfig {
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Where the policy comes from.
    pub model: ModelSection,
    /// What it learns from.
    pub data: DataSection,
    /// What it reads and how long it may answer.
    #[serde(default)]
    pub prompt: PromptSection,
    /// The supervised warm start; without it GRPO starts from the model as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sft: Option<SftSection>,
    /// Reinforcement learning.
    #[serde(default)]
    pub grpo: GrpoSection,
}

/// `[model]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSection {
    /// A Hugging Face folder: config.json, safetensors, tokenizer.json.
    pub path: PathBuf,
    /// Where tensors live.
    #[serde(default)]
    pub backend: Backend,
    /// Start from random weights of the same shape.
    #[serde(default)]
    pub from_scratch: bool,
    /// Train low-rank updates instead of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraConfig>,
}

/// `[data]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSection {
    /// Seeds (JSONL), as `swerl curate` writes them.
    pub seeds: PathBuf,
    /// Share of the repositories that is held out, chosen by their names; above 0, below 1.
    #[serde(default = "held_out_share")]
    pub held_out_share: f64,
    /// Held-out seeds evaluated before and after.
    #[serde(default = "evaluate")]
    pub evaluate: usize,
    /// Training seeds that decide when fine-tuning has flattened.
    #[serde(default = "validation")]
    pub validation: usize,
    /// Most training seeds imitated by fine-tuning; GRPO practises on the others, at least a fifth
    /// of them. Ignored without `[sft]`.
    #[serde(default = "sft_seeds")]
    pub sft: usize,
}

fn held_out_share() -> f64 {
    0.2
}

fn evaluate() -> usize {
    500
}

fn validation() -> usize {
    192
}

fn sft_seeds() -> usize {
    2048
}

/// `[prompt]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PromptSection {
    /// `swe_rl` (all rules spelled out), `compact` (few words, for small base models), or a file
    /// (minijinja).
    pub template: String,
    /// What surrounds the turns of a conversation.
    pub markup: Markup,
    /// Longest prompt in tokens; files that do not fit are left out whole, and counted.
    pub prompt_tokens: usize,
    /// Longest answer in tokens.
    pub answer_tokens: usize,
    /// Whether each sample sees the files in an order of its own.
    pub shuffle_files: bool,
}

impl Default for PromptSection {
    fn default() -> Self {
        Self {
            template: "swe_rl".to_owned(),
            markup: Markup::Plain,
            prompt_tokens: 4096,
            answer_tokens: 1024,
            shuffle_files: false,
        }
    }
}

/// What surrounds the turns of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Markup {
    /// Nothing: base models.
    Plain,
    /// Llama 3 and later, instruction-tuned.
    Llama3,
    /// `<|im_start|>`: Qwen, SmolLM2-Instruct and others.
    ChatMl,
}

/// `[sft]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SftSection {
    /// Most rounds; fine-tuning ends earlier when its validation reward is flat.
    pub rounds: u64,
    /// Seeds in a round, after which it is validated.
    pub round: usize,
    /// Sequences in a step.
    pub batch: usize,
    /// Peak learning rate; it falls linearly to a fifth over all rounds.
    pub lr: f64,
    /// What the answers imitated think before they answer.
    pub thought: Thought,
}

impl Default for SftSection {
    fn default() -> Self {
        Self { rounds: 4, round: 512, batch: 8, lr: 1e-5, thought: Thought::Location }
    }
}

/// What the answers imitated think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thought {
    /// Nothing.
    None,
    /// Where the change belongs, and the code there.
    Location,
}

/// `[grpo]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GrpoSection {
    /// The objective.
    pub preset: Preset,
    /// Steps.
    pub steps: u64,
    /// Prompts in a step.
    pub prompts: usize,
    /// Samples per prompt, at least 2.
    pub samples: usize,
    /// Peak learning rate; it rises over 3 steps and falls linearly to a twentieth.
    pub lr: f64,
    /// Weight of the preset's KL term, in its stead; 0 leaves the term out and keeps no reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
    /// Updates on each batch of samples.
    pub epochs: u64,
    /// Updates in a pass over a batch.
    pub minibatches: usize,
    /// Sampling temperature, above 0.
    pub temperature: f64,
    /// Most tokens of a micro-batch; bounds the memory of a pass.
    pub micro_batch_tokens: usize,
    /// Weight of a supervised term in each update; needs `[sft]`.
    pub sft_weight: f64,
    /// Merged answers that the supervised term of an update takes.
    pub sft_answers: usize,
    /// A program that gives the rewards instead, and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reward_command: Vec<String>,
    /// Shuffle rewards within each group: nothing can be learned, and nothing must be.
    pub permute_rewards: bool,
    /// A checkpoint after every so many steps.
    pub checkpoint_every: u64,
    /// The optimizer.
    pub optimizer: OptimizerRule,
}

impl Default for GrpoSection {
    fn default() -> Self {
        Self {
            preset: Preset::SweRl,
            steps: 100,
            prompts: 16,
            samples: 8,
            lr: 1e-6,
            kl: None,
            epochs: 1,
            minibatches: 1,
            temperature: 1.0,
            micro_batch_tokens: 8192,
            sft_weight: 0.0,
            sft_answers: 16,
            reward_command: Vec::new(),
            permute_rewards: false,
            checkpoint_every: 5,
            optimizer: OptimizerRule::default(),
        }
    }
}

impl RecipeConfig {
    /// Reads a file and then applies `overrides`, each `section.key=value`.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML or has an unknown key (with line and column), an
    /// override that names no key, a value out of range.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let fail = || format!("{}", path.display());
        // For errors with line and column, before the overrides lose them.
        let plain: Self = toml::from_str(&text).with_context(fail)?;
        let config = if overrides.is_empty() {
            plain
        } else {
            let mut table: toml::Table = toml::from_str(&text).with_context(fail)?;
            for change in overrides {
                apply(&mut table, change)?;
            }
            let named = || format!("--set {}", overrides.join(" --set "));
            table.try_into().with_context(named)?
        };
        config.validate().with_context(fail)?;
        Ok(config)
    }

    /// The whole configuration, defaults included, as a file that gives the same.
    ///
    /// # Errors
    /// A path that is not UTF-8.
    pub fn to_toml(&self) -> Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// Checks the ranges that nothing after it checks.
    ///
    /// # Errors
    /// The key and what is wrong with it.
    pub fn validate(&self) -> Result<()> {
        let share = self.data.held_out_share;
        ensure!(share > 0.0 && share < 1.0, "data.held_out_share is {share}: above 0 and below 1");
        for (key, value) in [
            ("data.evaluate", self.data.evaluate),
            ("prompt.prompt_tokens", self.prompt.prompt_tokens),
            ("prompt.answer_tokens", self.prompt.answer_tokens),
            ("grpo.prompts", self.grpo.prompts),
            ("grpo.micro_batch_tokens", self.grpo.micro_batch_tokens),
        ] {
            ensure!(value > 0, "{key} is 0: at least 1");
        }
        let samples = self.grpo.samples;
        ensure!(samples > 1, "grpo.samples is {samples}: a group needs 2 to compare");
        ensure!(self.grpo.checkpoint_every > 0, "grpo.checkpoint_every is 0: at least 1");
        if let Some(sft) = &self.sft {
            for (key, value) in [("sft.round", sft.round), ("sft.batch", sft.batch)] {
                ensure!(value > 0, "{key} is 0: at least 1");
            }
            ensure!(sft.rounds > 0, "sft.rounds is 0: leave [sft] out for none");
        }
        ensure!(
            self.grpo.sft_weight == 0.0 || self.sft.is_some(),
            "grpo.sft_weight needs [sft], whose seeds it takes answers from"
        );
        if let Some(lora) = &self.model.lora {
            lora.validate().map_err(|reason| anyhow::anyhow!("model.{reason}"))?;
        }
        Ok(())
    }
}

/// Sets `section.key=value` in `table`; a value that is not TOML is text.
fn apply(table: &mut toml::Table, change: &str) -> Result<()> {
    let (keys, value) =
        change.split_once('=').with_context(|| format!("--set {change}: no `=` in it"))?;
    let parsed = format!("value = {value}").parse::<toml::Table>();
    let value = match parsed.ok().and_then(|mut table| table.remove("value")) {
        Some(value) => value,
        None => toml::Value::String(value.to_owned()),
    };
    let mut keys: Vec<&str> = keys.trim().split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty());
    let last = last.with_context(|| format!("--set {change}: no key in it"))?;
    let mut at = table;
    for key in keys {
        let section = at.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = section
            .as_table_mut()
            .with_context(|| format!("--set {change}: `{key}` is no section"))?;
    }
    at.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "[model]\npath = \"m\"\n[data]\nseeds = \"s.jsonl\"\n[sft]\nrounds = 2\n";

    fn read(text: &str, overrides: &[&str]) -> Result<RecipeConfig> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
        RecipeConfig::read(file.path(), &overrides)
    }

    fn message(text: &str, overrides: &[&str]) -> String {
        format!("{:#}", read(text, overrides).expect_err("refused"))
    }

    #[test]
    fn what_is_printed_reads_back_as_the_same() {
        let overrides =
            ["grpo.kl=0.01", "model.lora={ rank = 8, alpha = 16.0, targets = [\"q_proj\"] }"];
        let config = read(SHORT, &overrides).expect("valid");
        assert_eq!(config.grpo.kl, Some(0.01));
        assert_eq!(config.model.lora.as_ref().map(|lora| lora.rank), Some(8));
        let again = read(&config.to_toml().expect("printed"), &[]).expect("valid");
        assert_eq!(again, config);
    }

    #[test]
    fn overrides_are_values_or_text() {
        let config =
            read(SHORT, &["grpo.steps=7", "prompt.template=compact", "seed=3"]).expect("valid");
        assert_eq!((config.grpo.steps, config.seed), (7, 3));
        assert_eq!(config.prompt.template, "compact");
    }

    #[test]
    fn wrong_keys_and_values_are_named() {
        let text = format!("{SHORT}stepps = 3\n");
        assert!(message(&text, &[]).contains("line 7"), "{}", message(&text, &[]));
        assert!(message(&text, &[]).contains("unknown field `stepps`"));
        assert!(message(SHORT, &["grpo.stepps=3"]).contains("unknown field `stepps`"));
        assert!(message(SHORT, &["grpo.samples=1"]).contains("a group needs 2"));
        assert!(message(SHORT, &["grpo"]).contains("no `=`"));
        assert!(message(SHORT, &["seed.x=1"]).contains("--set seed.x=1"));
        assert!(message("[data]\nseeds = \"s\"\n", &[]).contains("missing field `model`"));
        assert!(message(SHORT, &["data.held_out_share=1"]).contains("held_out_share"));
    }
}
