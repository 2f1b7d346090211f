//! Makes the sample corpus: `cargo run -p swerl-sample-corpus --example generate -- OUT [PULL_REQUESTS [SEED]]`.

use std::path::PathBuf;

use swerl_sample_corpus::{CorpusOptions, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().ok_or("usage: generate OUT [PULL_REQUESTS [SEED]]")?);
    let mut options = CorpusOptions::default();
    if let Some(count) = arguments.next() {
        options.pull_requests = count.parse()?;
    }
    if let Some(seed) = arguments.next() {
        options.seed = seed.parse()?;
    }
    let report = generate(&out, &options, &mut |done, total| eprintln!("{done}/{total}"))?;
    println!("{} pull requests, noise {:?}", report.pull_requests, report.noise);
    println!("{} events in {} hours", report.events, report.hours);
    println!("kinds {:?}", report.kinds);
    println!("held-out identifiers not in training: {:.3}", report.unseen_identifier_share);
    println!("held-out function names not in training: {:.3}", report.unseen_function_share);
    Ok(())
}
