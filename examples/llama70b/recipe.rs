//! The recipe, step by step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use swerl_model::{StoredDtype, Tokenizer};
use swerl_rollout::{PromptBuilder, SamplingParams, Template};

use crate::arguments::{Arguments, TemplateName};
use crate::data::{self, Data};
use crate::device::device;
use crate::live::Live;
use crate::policy;
use crate::records;
use crate::summary::{Measured, Summary};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it is done.
    Finished,
    /// Stopped by Ctrl-C and saved.
    Stopped,
}

/// What all phases share.
pub(crate) struct Run<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) live: &'a Live,
    pub(crate) data: &'a Data,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) builder: PromptBuilder<Arc<Tokenizer>>,
    pub(crate) params: SamplingParams,
    pub(crate) identity: BTreeMap<String, String>,
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

/// Runs the recipe.
pub(crate) fn run(arguments: &Arguments, stop: &Arc<AtomicBool>) -> Result<Outcome> {
    let wall = Instant::now();
    let live = Live::new(arguments.quiet, Arc::clone(stop));
    let out = &arguments.out;
    ensure!(
        arguments.resume || !out.exists(),
        "{} exists: go on with --resume, or choose another --out",
        out.display()
    );
    let device = device(arguments.backend)?;
    let start = policy::load(arguments, &device)?;
    let data = data::load(arguments, &live)?;
    let tokenizer = Arc::new(start.tokenizer);
    let template = match arguments.template {
        TemplateName::Compact => Template::Compact,
        TemplateName::SweRl => Template::SweRl,
    };
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let run = Run {
        arguments,
        live: &live,
        data: &data,
        builder: PromptBuilder::new(Arc::clone(&tokenizer), template, arguments.prompt_tokens),
        params: SamplingParams::plain(arguments.answer_tokens, tokenizer.eos_ids()),
        tokenizer,
        identity: BTreeMap::from([
            ("model".to_owned(), start.name.clone()),
            ("seed".to_owned(), arguments.seed.to_string()),
            (
                "seeds".to_owned(),
                data.grpo.iter().map(|s| s.id.as_str()).collect::<Vec<_>>().join(" "),
            ),
            ("permute_rewards".to_owned(), arguments.permute_rewards.to_string()),
        ]),
    };
    live.say(&format!(
        "{} ({} parameters); {} seeds for SFT, {} for GRPO, {} held out",
        start.name,
        start.model.config().parameters(),
        data.sft.len(),
        data.grpo.len(),
        data.held_out.len()
    ));
    let data_s = wall.elapsed().as_secs_f64();

    let base = unless_stopped!(run.evaluate("base", &start.model, &data.held_out));
    let clock = Instant::now();
    let (warm, warm_start) = unless_stopped!(run.warm_start(start.model));
    let sft_s = clock.elapsed().as_secs_f64();
    let before = unless_stopped!(run.evaluate("before", &warm, &data.held_out));
    let clock = Instant::now();
    let (trained, totals) = unless_stopped!(run.grpo(warm.clone()));
    let grpo_s = clock.elapsed().as_secs_f64();
    let after = unless_stopped!(run.evaluate("after", &trained, &data.held_out));
    let folder = out.join("model");
    if !folder.exists() {
        trained.save_folder(&folder, StoredDtype::F32, Some(&start.tokenizer_json))?;
    }
    let clock = Instant::now();
    let control = if arguments.no_control {
        None
    } else {
        Some(unless_stopped!(run.control(warm, &warm_start, &totals)))
    };
    let control_s = clock.elapsed().as_secs_f64();

    let summary = Summary::new(&Measured {
        base: &base,
        before: &before,
        after: &after,
        control: control.as_ref(),
        steps: arguments.steps,
        totals: &totals,
        wall_s: wall.elapsed().as_secs_f64(),
        phases: vec![
            ("corpus, curation, loading", data_s),
            ("SFT with validation", sft_s),
            ("GRPO: sampling and scoring", totals.times.collect),
            ("GRPO: gradients", totals.times.gradient),
            ("GRPO: optimizer", totals.times.update),
            (
                "GRPO: checkpoints, rest",
                grpo_s - totals.times.collect - totals.times.gradient - totals.times.update,
            ),
            ("SFT control with evaluation", control_s),
            ("held-out evaluations", base.seconds + before.seconds + after.seconds),
        ],
    });
    println!("{}", summary.table());
    records::write(&out.join("summary.json"), &summary)?;
    if let Some(path) = &arguments.summary {
        records::write(path, &summary)?;
    }
    Ok(Outcome::Finished)
}
