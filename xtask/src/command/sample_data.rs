//! `cargo xtask sample-data`: writes the sample corpus, the same that the example `llama70b`
//! makes for itself, to look at or to try the commands on.

use std::time::Instant;

use anyhow::{Context, Result};
use swerl_sample_corpus::{CorpusOptions, generate};

use crate::{cli::SampleDataArgs, workspace::Workspace};

/// Writes the corpus and says what is in it.
///
/// # Errors
/// When the folder exists or cannot be written, or git is missing.
pub fn run(workspace: &Workspace, args: SampleDataArgs) -> Result<()> {
    let out = args.out.unwrap_or_else(|| workspace.root.join("target/sample-data"));
    let options = CorpusOptions { seed: args.seed, pull_requests: args.pull_requests };
    let start = Instant::now();
    let report = generate(&out, &options, &mut |done, total| {
        eprintln!("xtask: sample-data: {done} of {total} pull requests");
    })
    .context("making the sample corpus")?;
    println!("{} in {:.1} s", out.display(), start.elapsed().as_secs_f64());
    let held_out = report.repositories.iter().filter(|repository| repository.held_out).count();
    println!("repositories           {} ({held_out} held out)", report.repositories.len());
    println!("merged bug fixes       {}", report.pull_requests);
    println!("noise                  {}", report.noise.values().sum::<usize>());
    println!("events                 {} in {} files", report.events, report.hours);
    println!(
        "identifiers held out that training never shows  {:.1}%",
        share(report.unseen_identifier_share)
    );
    println!(
        "functions held out that training never shows    {:.1}%",
        share(report.unseen_function_share)
    );
    println!("\nseeds of it:");
    println!("  swerl curate all {0}/events --repos {0}/repos --out seeds.jsonl", out.display());
    Ok(())
}

fn share(value: f64) -> f64 {
    value * 100.0
}
