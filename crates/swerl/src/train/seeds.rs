//! The seeds of a run by their use.

use std::path::Path;

use anyhow::{Result, ensure};
use swerl_data::{HeldOut, SeedExample, read_seeds, split_by_repository};
use swerl_rollout::{NoiseKey, Stream};

use super::config::RecipeConfig;
use super::live::Live;

/// Seeds by use. No repository of `held_out` is in the others, unless there is only one.
#[derive(Debug, Clone)]
pub struct Seeds {
    /// Imitated by supervised fine-tuning.
    pub sft: Vec<SeedExample>,
    /// Decide when supervised fine-tuning has flattened.
    pub validation: Vec<SeedExample>,
    /// Practised on by GRPO, which never sees their oracle patches as text.
    pub grpo: Vec<SeedExample>,
    /// Evaluated before and after.
    pub held_out: Vec<SeedExample>,
}

impl Seeds {
    /// The seeds of the configuration's file.
    ///
    /// # Errors
    /// A file that cannot be read or holds too few seeds.
    pub fn read(config: &RecipeConfig, live: &Live) -> Result<Self> {
        let path: &Path = &config.data.seeds;
        let seeds = read_seeds(path)?;
        ensure!(!seeds.is_empty(), "{}: no seeds in it", path.display());
        let held_out = HeldOut::Share { share: config.data.held_out_share, seed: config.seed };
        Self::split(seeds, &held_out, config, live)
    }

    /// Splits `seeds` by repository, shuffles both sides by the seed and gives each use its part.
    ///
    /// # Errors
    /// Too few seeds for one of the uses.
    pub fn split(
        seeds: Vec<SeedExample>,
        held_out: &HeldOut,
        config: &RecipeConfig,
        live: &Live,
    ) -> Result<Self> {
        let split = split_by_repository(&seeds, held_out);
        let owned = |seeds: &[&SeedExample]| seeds.iter().map(|s| (*s).clone()).collect::<Vec<_>>();
        let (mut train, mut held_out) = (owned(&split.train), owned(&split.held_out));
        if held_out.is_empty() || train.is_empty() {
            live.say(
                "all seeds are of one side of the split: holding out the last fifth by merge time",
            );
            train = seeds;
            held_out = train.split_off(train.len() - train.len() / 5);
        }
        let train = shuffled(&train, config.seed, 0);
        let held_out = shuffled(&held_out, config.seed, 1);
        let take = |from: usize, count: usize| {
            train.iter().skip(from).take(count).cloned().collect::<Vec<_>>()
        };
        let (validation, sft) = match &config.sft {
            Some(_) => (
                config.data.validation.min(train.len() / 5),
                config.data.sft.min(train.len() * 4 / 5),
            ),
            None => (0, 0),
        };
        let seeds = Self {
            validation: take(0, validation),
            sft: take(validation, sft),
            grpo: take(validation + sft, usize::MAX),
            held_out: held_out.into_iter().take(config.data.evaluate).collect(),
        };
        let mut uses = vec![("GRPO", &seeds.grpo), ("held-out", &seeds.held_out)];
        if config.sft.is_some() {
            uses.extend([("SFT", &seeds.sft), ("validation", &seeds.validation)]);
        }
        for (name, part) in uses {
            ensure!(!part.is_empty(), "too few seeds: none left for {name}");
        }
        Ok(seeds)
    }
}

fn shuffled(seeds: &[SeedExample], seed: u64, side: u64) -> Vec<SeedExample> {
    let key = NoiseKey { stream: Stream::SeedOrder, seed, step: u64::MAX, prompt: side, sample: 0 };
    key.permutation(seeds.len()).into_iter().map(|i| seeds[i].clone()).collect()
}
