//! Seeds: made from the sample corpus or read from a file, and split so that no repository is both
//! trained on and evaluated.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use swerl_data::{
    CURATION_VERSION, CurateOptions, HeldOut, RepositoryFolder, SeedExample, curate_events,
    read_seeds, split_by_repository, write_seeds,
};
use swerl_rollout::{NoiseKey, Stream};
use swerl_sample_corpus::{CorpusOptions, generate};

use crate::arguments::Arguments;
use crate::live::Live;

/// Seeds by use. No repository of `held_out` is in the others.
pub(crate) struct Data {
    /// Imitated by supervised fine-tuning.
    pub(crate) sft: Vec<SeedExample>,
    /// Decide when supervised fine-tuning has flattened.
    pub(crate) validation: Vec<SeedExample>,
    /// Practised on by GRPO, which never sees their oracle patches as text.
    pub(crate) grpo: Vec<SeedExample>,
    /// Evaluated before and after.
    pub(crate) held_out: Vec<SeedExample>,
}

/// Seeds that decide when supervised fine-tuning has flattened.
const VALIDATION: usize = 192;

/// Loads or makes the seeds.
pub(crate) fn load(arguments: &Arguments, live: &Live) -> Result<Data> {
    let (seeds, held_out) = match &arguments.seeds {
        Some(path) => {
            let seeds = read_seeds(path)?;
            ensure!(!seeds.is_empty(), "{}: no seeds in it", path.display());
            (seeds, HeldOut::Share { share: 0.2, seed: arguments.seed })
        }
        None => sample(arguments, live)?,
    };
    let split = split_by_repository(&seeds, &held_out);
    let owned = |seeds: &[&SeedExample]| seeds.iter().map(|s| (*s).clone()).collect::<Vec<_>>();
    let (mut train, mut held_out) = (owned(&split.train), owned(&split.held_out));
    if held_out.is_empty() || train.is_empty() {
        // A single repository: its last fifth, by merge time.
        live.say(
            "all seeds are of one side of the split: holding out the last fifth by merge time",
        );
        train = seeds;
        held_out = train.split_off(train.len() - train.len() / 5);
    }
    let train = shuffled(&train, arguments.seed, 0);
    let held_out = shuffled(&held_out, arguments.seed, 1);
    let take = |from: usize, count: usize| {
        train.iter().skip(from).take(count).cloned().collect::<Vec<_>>()
    };
    let validation = VALIDATION.min(train.len() / 5);
    let sft = arguments.sft_seeds.min(train.len() * 4 / 5);
    let data = Data {
        validation: take(0, validation),
        sft: take(validation, sft),
        grpo: take(validation + sft, usize::MAX),
        held_out: held_out.into_iter().take(arguments.held_out).collect(),
    };
    for (name, part) in [
        ("SFT", &data.sft),
        ("GRPO", &data.grpo),
        ("held-out", &data.held_out),
        ("validation", &data.validation),
    ] {
        ensure!(!part.is_empty(), "too few seeds: none left for {name}");
    }
    Ok(data)
}

fn shuffled(seeds: &[SeedExample], seed: u64, side: u64) -> Vec<SeedExample> {
    let key = NoiseKey { stream: Stream::SeedOrder, seed, step: u64::MAX, prompt: side, sample: 0 };
    key.permutation(seeds.len()).into_iter().map(|i| seeds[i].clone()).collect()
}

/// The sample corpus, curated: generated once into the cache, curated once.
fn sample(arguments: &Arguments, live: &Live) -> Result<(Vec<SeedExample>, HeldOut)> {
    let options = CorpusOptions::default();
    let cache = arguments.cache.clone().unwrap_or_else(cache_folder);
    let folder = cache.join(format!("sample-corpus-{}", env!("CARGO_PKG_VERSION")));
    if !folder.exists() {
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("cannot create {}", cache.display()))?;
        let report = generate(&folder, &options, &mut |done, total| {
            live.count("making repositories", done, total);
        })?;
        live.say(&format!(
            "corpus: {} repositories, {} bug fixes, {} noise; {:.0}% of held-out identifiers and {:.0}% of held-out function names are never seen in training",
            report.repositories.len(),
            report.pull_requests,
            report.noise.values().sum::<usize>(),
            100.0 * report.unseen_identifier_share,
            100.0 * report.unseen_function_share,
        ));
    }
    let held_out = held_out_repositories(&folder.join("corpus.json"))?;
    let file = folder.join(format!("seeds-{CURATION_VERSION}.jsonl"));
    if file.exists() {
        return Ok((read_seeds(&file)?, HeldOut::Repositories(held_out)));
    }
    let repositories = RepositoryFolder::new(folder.join("repos"));
    let (seeds, report) =
        curate_events(folder.join("events"), &repositories, &CurateOptions::default(), live)?;
    write_seeds(&file, &seeds)?;
    live.say(&format!("curated: {} of {} pull requests kept", report.kept, report.inputs));
    Ok((seeds, HeldOut::Repositories(held_out)))
}

fn held_out_repositories(path: &Path) -> Result<BTreeSet<String>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let report: serde_json::Value = serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged: remove its folder", path.display()))?;
    let list = report["repositories"].as_array().into_iter().flatten();
    let names = list.filter(|r| r["split"] == "held_out").filter_map(|r| r["name"].as_str());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    ensure!(
        !names.is_empty(),
        "{} names no held-out repository: remove its folder",
        path.display()
    );
    Ok(names)
}

fn cache_folder() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    base.or_else(home).unwrap_or_else(std::env::temp_dir).join("swerl")
}
