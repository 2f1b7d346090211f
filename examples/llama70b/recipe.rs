//! The recipe's configuration for this machine, out of the command line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use swerl::train::{
    DataSection, GrpoSection, Live, Markup, ModelSection, Outcome, PromptSection, Recipe,
    RecipeConfig, Seeds, SftSection, Start, Thought, write,
};
use swerl_grpo::{OptimizerRule, Preset};

use crate::arguments::{Arguments, TemplateName};
use crate::corpus;

/// Seeds that decide when supervised fine-tuning has flattened.
const VALIDATION: usize = 192;
/// Sequences in a step of supervised fine-tuning.
const SFT_BATCH: usize = 8;

/// Runs the recipe; false when Ctrl-C stopped it.
pub(crate) fn run(arguments: &Arguments, stop: &Arc<AtomicBool>) -> Result<bool> {
    let began = Instant::now();
    let live = Live::new(arguments.quiet, Arc::clone(stop));
    Recipe::check_folder(&arguments.out, arguments.resume)?;
    let config = config(arguments);
    let start = Start::load(&config.model, config.seed)?;
    let start = match (&arguments.model, arguments.from_scratch) {
        (None, false) => start.named("the embedded base model"),
        _ => start,
    };
    let seeds = match &arguments.seeds {
        Some(_) => Seeds::read(&config, &live)?,
        None => {
            let (seeds, held_out) = corpus::seeds(arguments, &live)?;
            Seeds::split(seeds, &held_out, &config, &live)?
        }
    };
    let out = arguments.out.clone();
    let recipe = Recipe { config: &config, start, seeds: &seeds, out, live: &live, began };
    match recipe.train(!arguments.no_control)? {
        Outcome::Finished(summary) => {
            println!("{}", summary.table());
            if let Some(path) = &arguments.summary {
                write(path, &summary)?;
            }
            Ok(true)
        }
        Outcome::FineTuned(..) | Outcome::Stopped => Ok(false),
    }
}

fn config(arguments: &Arguments) -> RecipeConfig {
    let embedded = || Path::new(env!("CARGO_MANIFEST_DIR")).join("base-model");
    RecipeConfig {
        seed: arguments.seed,
        model: ModelSection {
            path: arguments.model.clone().unwrap_or_else(embedded),
            backend: arguments.backend,
            from_scratch: arguments.from_scratch,
            lora: None,
        },
        data: DataSection {
            seeds: arguments.seeds.clone().unwrap_or_default(),
            held_out_share: 0.2,
            evaluate: arguments.held_out,
            validation: VALIDATION,
            sft: arguments.sft_seeds,
        },
        prompt: PromptSection {
            template: match arguments.template {
                TemplateName::Compact => "compact".to_owned(),
                TemplateName::SweRl => "swe_rl".to_owned(),
            },
            markup: Markup::Plain,
            prompt_tokens: arguments.prompt_tokens,
            answer_tokens: arguments.answer_tokens,
            shuffle_files: false,
        },
        sft: Some(SftSection {
            rounds: arguments.sft_rounds,
            round: arguments.sft_round,
            batch: SFT_BATCH,
            lr: arguments.sft_lr,
            thought: Thought::Location,
        }),
        grpo: GrpoSection {
            preset: Preset::SweRl,
            steps: arguments.steps,
            prompts: arguments.prompts,
            samples: arguments.samples,
            lr: arguments.lr,
            // The paper's beta is not published.
            kl: Some(arguments.kl),
            epochs: arguments.epochs,
            minibatches: 1,
            temperature: 1.0,
            micro_batch_tokens: 8192,
            sft_weight: arguments.sft_weight,
            sft_answers: arguments.sft_answers,
            reward_command: Vec::new(),
            permute_rewards: arguments.permute_rewards,
            checkpoint_every: 5,
            optimizer: OptimizerRule::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn the_configurations_in_the_examples_are_valid_and_the_demo_is_this() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        let read = |name: &str| RecipeConfig::read(&folder.join(name), &[]).expect(name);
        for name in ["smollm2.toml", "llama8b-lora.toml", "llama70b-paper.toml"] {
            read(name);
        }
        let here = config(&Arguments::parse_from(["llama70b"]));
        let mut file = read("demo.toml");
        file.model.path.clone_from(&here.model.path);
        file.data.seeds.clone_from(&here.data.seeds);
        assert_eq!(file, here);
    }
}
