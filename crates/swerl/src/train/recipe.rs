//! The recipe, step by step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use swerl_model::{CausalLm, Tokenizer};
use swerl_rollout::{
    ChatMarkup, Evaluation, FileTemplate, PromptBuilder, SamplingParams, Template,
};

use super::config::{Markup, PromptSection, RecipeConfig};
use super::live::Live;
use super::policy::Start;
use super::records::{self, Totals};
use super::seeds::Seeds;
use super::summary::{Measured, Summary};

/// The configuration in a run's folder.
const CONFIG: &str = "config.toml";

/// How a run ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// All of it is done.
    Finished(Box<Summary>),
    /// Fine-tuning alone is done: the evaluations before and after.
    FineTuned(Evaluation, Evaluation),
    /// Stopped by Ctrl-C and saved.
    Stopped,
}

/// A run: what it does, with what, and where its files go.
pub struct Recipe<'a> {
    /// What determines it.
    pub config: &'a RecipeConfig,
    /// The policy and its tokenizer.
    pub start: Start,
    /// What it learns from.
    pub seeds: &'a Seeds,
    /// Folder of the run: configuration, metrics, rollouts, checkpoints, the trained model.
    pub out: PathBuf,
    /// The terminal, and Ctrl-C.
    pub live: &'a Live,
    /// When it began, for the summary.
    pub began: Instant,
}

/// What all phases share.
pub(super) struct Run<'a> {
    pub(super) config: &'a RecipeConfig,
    pub(super) live: &'a Live,
    pub(super) seeds: &'a Seeds,
    pub(super) out: PathBuf,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) builder: PromptBuilder<Arc<Tokenizer>>,
    pub(super) params: SamplingParams,
    pub(super) identity: BTreeMap<String, String>,
}

/// Ends a phase early when Ctrl-C was pressed.
macro_rules! unless_stopped {
    ($phase:expr) => {
        match $phase? {
            Some(value) => value,
            None => return Ok(Outcome::Stopped),
        }
    };
}

impl<'a> Recipe<'a> {
    /// Refuses a folder that another run has used, unless that is to be gone on with.
    ///
    /// # Errors
    /// `out` exists and `resume` is false.
    pub fn check_folder(out: &Path, resume: bool) -> Result<()> {
        ensure!(
            resume || !out.exists(),
            "{} exists: go on with --resume, or choose another --out",
            out.display()
        );
        Ok(())
    }

    /// Fine-tuning alone.
    ///
    /// # Errors
    /// No `[sft]`, and whatever its phases meet; what is done is in the folder, and a run with the
    /// same configuration goes on from there.
    pub fn fine_tune(self) -> Result<Outcome> {
        let sft = self.config.sft.as_ref().context("no [sft] in the configuration")?;
        let run = self.begin()?;
        let base = unless_stopped!(run.evaluate("base", &self.start.model, &self.seeds.held_out));
        let (warm, _) = unless_stopped!(run.warm_start(sft, self.start.model.clone()));
        let before = unless_stopped!(run.evaluate("before", &warm, &self.seeds.held_out));
        self.save(&warm)?;
        Ok(Outcome::FineTuned(base, before))
    }

    /// All of it; `control` adds supervised fine-tuning carried on for as many tokens as GRPO trained
    /// on, where there is `[sft]`.
    ///
    /// # Errors
    /// As [`Recipe::fine_tune`].
    pub fn train(self, control: bool) -> Result<Outcome> {
        let run = self.begin()?;
        let held_out = &self.seeds.held_out;
        let data_s = self.began.elapsed().as_secs_f64();
        let base = unless_stopped!(run.evaluate("base", &self.start.model, held_out));
        let clock = Instant::now();
        let (warm, warm_start) = match &self.config.sft {
            Some(sft) => {
                let (warm, state) = unless_stopped!(run.warm_start(sft, self.start.model.clone()));
                (warm, Some((sft, state)))
            }
            None => (self.start.model.clone(), None),
        };
        let sft_s = clock.elapsed().as_secs_f64();
        let before = match &warm_start {
            Some(_) => unless_stopped!(run.evaluate("before", &warm, held_out)),
            None => base.clone(),
        };
        let clock = Instant::now();
        let (trained, totals) = unless_stopped!(run.grpo(warm.clone()));
        let grpo_s = clock.elapsed().as_secs_f64();
        let after = unless_stopped!(run.evaluate("after", &trained, held_out));
        self.save(&trained)?;
        let clock = Instant::now();
        let control = match warm_start.filter(|_| control) {
            Some((sft, state)) => Some(unless_stopped!(run.control(sft, warm, &state, &totals))),
            None => None,
        };
        let control_s = clock.elapsed().as_secs_f64();
        let summary = Summary::new(&Measured {
            base: &base,
            before: &before,
            after: &after,
            control: control.as_ref(),
            steps: self.config.grpo.steps,
            totals: &totals,
            wall_s: self.began.elapsed().as_secs_f64(),
            phases: phases(data_s, sft_s, grpo_s, control_s, &totals, [&base, &before, &after]),
        });
        records::write(&self.out.join("summary.json"), &summary)?;
        Ok(Outcome::Finished(Box::new(summary)))
    }

    fn save(&self, trained: &CausalLm) -> Result<()> {
        self.start.save(trained, &self.out.join("model"), self.config.model.lora.is_some())
    }

    fn begin(&self) -> Result<Run<'a>> {
        let Self { config, start, seeds, out, live, .. } = self;
        let tokenizer = Arc::clone(&start.tokenizer);
        let builder = builder(&config.prompt, &tokenizer)?;
        std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
        let path = out.join(CONFIG);
        std::fs::write(&path, config.to_toml()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        live.say(&format!(
            "{} ({} parameters); {} seeds for SFT, {} for GRPO, {} held out",
            start.name,
            start.model.config().parameters(),
            seeds.sft.len(),
            seeds.grpo.len(),
            seeds.held_out.len()
        ));
        let ids = seeds.grpo.iter().map(|s| s.id.as_str()).collect::<Vec<_>>().join(" ");
        Ok(Run {
            config,
            live,
            seeds,
            out: out.clone(),
            builder,
            params: SamplingParams::plain(config.prompt.answer_tokens, tokenizer.eos_ids()),
            tokenizer,
            identity: BTreeMap::from([
                ("model".to_owned(), start.name.clone()),
                ("seed".to_owned(), config.seed.to_string()),
                ("seeds".to_owned(), ids),
                ("permute_rewards".to_owned(), config.grpo.permute_rewards.to_string()),
                ("reward_command".to_owned(), config.grpo.reward_command.join(" ")),
                ("prompt".to_owned(), format!("{:?}", config.prompt)),
            ]),
        })
    }
}

/// Where the time went.
fn phases(
    data_s: f64,
    sft_s: f64,
    grpo_s: f64,
    control_s: f64,
    totals: &Totals,
    evaluations: [&Evaluation; 3],
) -> Vec<(&'static str, f64)> {
    let times = &totals.times;
    vec![
        ("data, loading", data_s),
        ("SFT with validation", sft_s),
        ("GRPO: sampling and scoring", times.collect),
        ("GRPO: gradients", times.gradient),
        ("GRPO: optimizer", times.update),
        ("GRPO: checkpoints, rest", grpo_s - times.collect - times.gradient - times.update),
        ("SFT control with evaluation", control_s),
        ("held-out evaluations", evaluations.iter().map(|e| e.seconds).sum()),
    ]
}

fn builder(
    section: &PromptSection,
    tokenizer: &Arc<Tokenizer>,
) -> Result<PromptBuilder<Arc<Tokenizer>>> {
    let built_in =
        |template| PromptBuilder::new(Arc::clone(tokenizer), template, section.prompt_tokens);
    let builder = match section.template.as_str() {
        "swe_rl" => built_in(Template::SweRl),
        "compact" => built_in(Template::Compact),
        file => {
            let template = FileTemplate::from_file(Path::new(file)).with_context(|| {
                format!("prompt.template is neither `swe_rl` nor `compact`, but {file}")
            })?;
            built_in(Template::SweRl).with_template_file(template)
        }
    };
    match section.markup {
        Markup::Plain => Ok(builder),
        Markup::Llama3 => Ok(builder.with_markup(ChatMarkup::llama3())?),
        Markup::ChatMl => Ok(builder.with_markup(ChatMarkup::chat_ml())?),
    }
}
