//! `swerl train`, `swerl sft` and `swerl resume`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use swerl::train::{Live, Outcome, Recipe, RecipeConfig, Seeds, Start, read, write};
use swerl_model::{MemoryPlan, ModelConfig, Precision, Workload};
use swerl_rollout::Evaluation;

use crate::cli::{ResumeArgs, RunArgs, TrainArgs};
use crate::command::plan::memory_table;
use crate::interrupt::Interrupt;
use crate::output::say;

/// What a folder's run does, for `resume`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    Sft,
    Train { control: bool },
}

/// Where [`Task`] is kept.
const TASK: &str = "run.json";

/// Runs `train`.
pub(crate) fn train(args: &TrainArgs, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    begin(&args.run, Task::Train { control: args.control }, quiet, interrupt)
}

/// Runs `sft`.
pub(crate) fn sft(args: &RunArgs, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    begin(args, Task::Sft, quiet, interrupt)
}

/// Runs `resume`.
pub(crate) fn resume(args: &ResumeArgs, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    let task = read::<Task>(&args.run.join(TASK))?.with_context(|| {
        format!(
            "{} has no {TASK}: `swerl train` and `swerl sft` make such folders",
            args.run.display()
        )
    })?;
    let config = RecipeConfig::read(&args.run.join("config.toml"), &[])?;
    go(&config, task, &args.run, quiet, args.json, interrupt)
}

fn begin(args: &RunArgs, task: Task, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    let config = RecipeConfig::read(&args.config, &args.set)?;
    if let Task::Train { control: true } | Task::Sft = task {
        ensure!(config.sft.is_some(), "{}: no [sft] in it", args.config.display());
    }
    if args.dry_run {
        return describe(&config);
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let name = args.config.file_stem().context("a configuration is a file")?;
            PathBuf::from("runs").join(name)
        }
    };
    Recipe::check_folder(&out, args.resume)?;
    go(&config, task, &out, quiet, args.json, interrupt)
}

fn go(
    config: &RecipeConfig,
    task: Task,
    out: &Path,
    quiet: bool,
    json: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let began = Instant::now();
    let live = Live::new(quiet, interrupt.after_the_step());
    // Before the folder is made: a wrong path leaves nothing behind.
    let seeds = Seeds::read(config, &live)?;
    let start = Start::load(&config.model, config.seed)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    write(&out.join(TASK), &task)?;
    let recipe =
        Recipe { config, start, seeds: &seeds, out: out.to_path_buf(), live: &live, began };
    let outcome = match task {
        Task::Sft => recipe.fine_tune(),
        Task::Train { control } => recipe.train(control),
    }?;
    match outcome {
        Outcome::Finished(summary) if json => println!("{}", serde_json::to_string(&*summary)?),
        Outcome::Finished(summary) => println!("{}", summary.table()),
        Outcome::FineTuned(base, before) => {
            let figures =
                serde_json::json!({ "base": figures(&base), "fine_tuned": figures(&before) });
            if json {
                println!("{figures}");
            } else {
                println!("the fine-tuned model is in {}", out.join("model").display());
            }
        }
        Outcome::Stopped => say(&format!("stopped; go on with: swerl resume {}", out.display())),
    }
    Ok(())
}

fn figures(evaluation: &Evaluation) -> serde_json::Value {
    serde_json::json!({
        "valid": evaluation.format_valid(),
        "reward": evaluation.reward_mean(),
        "exact": evaluation.exact(),
        "valid_similarity": evaluation.valid_similarity(),
    })
}

/// The whole configuration and the memory it takes.
fn describe(config: &RecipeConfig) -> Result<()> {
    let model = ModelConfig::from_folder(&config.model.path)?;
    let workload = Workload {
        context: (config.prompt.prompt_tokens + config.prompt.answer_tokens) as u64,
        decoded: (config.grpo.prompts * config.grpo.samples) as u64,
        devices: 1,
        precision: Precision::F32,
    };
    let plan = MemoryPlan::new(&model, &workload);
    print!("{}", config.to_toml()?);
    println!("\n# {} parameters; full training in f32 on one device", model.parameters());
    for line in memory_table(&plan).lines() {
        println!("# {line}");
    }
    Ok(())
}
