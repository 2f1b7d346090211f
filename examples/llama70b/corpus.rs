//! The sample corpus: generated once into the cache, curated once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use swerl::train::Live;
use swerl_data::{
    CURATION_VERSION, CurateOptions, HeldOut, RepositoryFolder, SeedExample, curate_events,
    read_seeds, write_seeds,
};
use swerl_sample_corpus::{CorpusOptions, generate};

use crate::arguments::Arguments;

/// The corpus's seeds, and which of its repositories are held out.
pub(crate) fn seeds(arguments: &Arguments, live: &Live) -> Result<(Vec<SeedExample>, HeldOut)> {
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
