//! The data card: what a set of seeds is made of, for whoever trains on it.
//!
//! Counts of the curation by stage and reason, then languages, sizes, dates and licences of the
//! seeds, as Markdown with histograms in SVG beside it. Same seeds and report, same bytes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::error::DataError;
use crate::filter::size::changed_lines;
use crate::jsonl::write_text;
use crate::language::language;
use crate::report::CurateReport;
use crate::seed::{FileRole, IssueSource, SeedExample};
use crate::tokens::estimate_tokens;

mod histogram;

pub use histogram::Histogram;

/// Languages shown; the rest is summed.
const MOST_LANGUAGES: usize = 12;
/// Repositories shown.
const MOST_REPOSITORIES: usize = 20;

/// A data card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataCard {
    /// The page, in Markdown. It refers to the pictures by name.
    pub markdown: String,
    /// File name and SVG text of each picture.
    pub pictures: Vec<(&'static str, String)>,
}

impl DataCard {
    /// The card of these seeds, which are the ones that `report` counts as kept.
    #[must_use]
    pub fn new(name: &str, seeds: &[SeedExample], report: &CurateReport) -> Self {
        let histograms = [
            ("languages.svg", by_language(seeds)),
            ("changed-lines.svg", by_size("Seeds by changed lines", seeds, lines_of)),
            ("changed-files.svg", by_size("Seeds by changed files", seeds, |s| s.oracle.len())),
            ("context-tokens.svg", by_size("Seeds by tokens of context (estimate)", seeds, tokens)),
            ("years.svg", by_year(seeds)),
        ];
        let mut text = format!("# Data card: {name}\n\n");
        overview(seeds, report, &mut text);
        funnel(report, &mut text);
        notes(report, &mut text);
        for (file, histogram) in &histograms {
            let _ = writeln!(text, "## {}\n\n![{0}]({file})\n", histogram.title);
            histogram.push_table(&mut text);
        }
        licences(report, &mut text);
        repositories(seeds, &mut text);
        let pictures = histograms.map(|(file, histogram)| (file, histogram.svg()));
        Self { markdown: text, pictures: pictures.into() }
    }

    /// Writes `data-card.md` and the pictures into a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made or a file cannot be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), DataError> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder)
            .map_err(|source| DataError::Write { path: folder.to_path_buf(), source })?;
        for (name, svg) in &self.pictures {
            write_text(folder.join(name), svg)?;
        }
        write_text(folder.join("data-card.md"), &self.markdown)
    }
}

fn overview(seeds: &[SeedExample], report: &CurateReport, text: &mut String) {
    let linked = seeds.iter().filter(|s| s.issue.source == IssueSource::LinkedIssue).count();
    let edited = count_files(seeds, FileRole::Edit);
    let relevant = count_files(seeds, FileRole::Relevant);
    let dates = seeds.iter().filter_map(|seed| seed.merged_at.as_deref());
    let (first, last) = (dates.clone().min().unwrap_or("-"), dates.max().unwrap_or("-"));
    let mut names: Vec<&str> = seeds.iter().map(|seed| seed.repo.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    text.push_str("| | |\n|---|---:|\n");
    for (what, value) in [
        ("seeds", seeds.len().to_string()),
        ("repositories with seeds", names.len().to_string()),
        ("clones read", report.repositories.to_string()),
        ("events read", report.events.to_string()),
        ("issue from a linked issue", linked.to_string()),
        ("issue from a commit message", (seeds.len() - linked).to_string()),
        ("edited files", edited.to_string()),
        ("relevant unmodified files", relevant.to_string()),
        ("first merge", first.to_owned()),
        ("last merge", last.to_owned()),
    ] {
        let _ = writeln!(text, "| {what} | {value} |");
    }
    text.push('\n');
}

fn count_files(seeds: &[SeedExample], role: FileRole) -> usize {
    seeds.iter().flat_map(|seed| &seed.files).filter(|file| file.role == role).count()
}

/// What is left after each reason, in the order of the checks.
fn funnel(report: &CurateReport, text: &mut String) {
    text.push_str("## Where the pull requests went\n\n| reason | dropped | left | why |\n|---|---:|---:|---|\n");
    let mut left = report.inputs;
    let _ = writeln!(text, "| seen | | {left} | |");
    for (reason, count) in &report.dropped {
        left = left.saturating_sub(*count);
        let _ = writeln!(text, "| {reason} | {count} | {left} | {} |", reason.explanation());
    }
    let _ = writeln!(text, "| **kept** | | **{}** | |\n", report.kept);
}

fn notes(report: &CurateReport, text: &mut String) {
    if report.notes.is_empty() {
        return;
    }
    text.push_str("## Noted, not dropped\n\n| what | changes or clones |\n|---|---:|\n");
    for (note, count) in &report.notes {
        let name = serde_json::to_value(note).ok();
        let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("").to_owned();
        let _ = writeln!(text, "| {name} | {count} |");
    }
    text.push('\n');
}

fn licences(report: &CurateReport, text: &mut String) {
    if report.licences.is_empty() {
        return;
    }
    text.push_str("## Licences of the repositories, by seeds\n\n| SPDX | seeds |\n|---|---:|\n");
    for (licence, count) in &report.licences {
        let _ = writeln!(text, "| {licence} | {count} |");
    }
    text.push('\n');
}

fn repositories(seeds: &[SeedExample], text: &mut String) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    seeds.iter().for_each(|seed| *counts.entry(&seed.repo).or_default() += 1);
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    text.push_str("## Repositories with most seeds\n\n| repository | seeds |\n|---|---:|\n");
    for (name, count) in counts.iter().take(MOST_REPOSITORIES) {
        let _ = writeln!(text, "| {name} | {count} |");
    }
}

fn lines_of(seed: &SeedExample) -> usize {
    let old = |path: &str| {
        seed.files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str())
    };
    seed.oracle.iter().map(|(path, new)| changed_lines(old(path), new)).sum()
}

fn tokens(seed: &SeedExample) -> usize {
    seed.files.iter().map(|file| estimate_tokens(&file.text)).sum()
}

/// Each seed counts once for every language that it changes.
fn by_language(seeds: &[SeedExample]) -> Histogram {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds {
        let mut tongues: Vec<&str> =
            seed.oracle.keys().map(|path| language(path).unwrap_or("other")).collect();
        tongues.sort_unstable();
        tongues.dedup();
        tongues.into_iter().for_each(|tongue| *counts.entry(tongue).or_default() += 1);
    }
    let mut bars: Vec<(String, u64)> =
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    bars.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest: u64 = bars.iter().skip(MOST_LANGUAGES).map(|(_, count)| count).sum();
    bars.truncate(MOST_LANGUAGES);
    if rest > 0 {
        bars.push(("all others".to_owned(), rest));
    }
    Histogram { title: "Seeds by language changed".to_owned(), bars }
}

/// Bars of doubling width: 0, 1, 2-3, 4-7, ...
fn by_size(title: &str, seeds: &[SeedExample], size: impl Fn(&SeedExample) -> usize) -> Histogram {
    let mut counts: Vec<u64> = Vec::new();
    for seed in seeds {
        let bucket = (usize::BITS - size(seed).leading_zeros()) as usize;
        counts.resize(counts.len().max(bucket + 1), 0);
        counts[bucket] += 1;
    }
    let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
    let bars = counts.iter().enumerate().skip(first).map(|(bucket, &count)| {
        let name = match bucket {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            _ => format!("{}-{}", 1_u64 << (bucket - 1), (1_u64 << bucket) - 1),
        };
        (name, count)
    });
    Histogram { title: title.to_owned(), bars: bars.collect() }
}

fn by_year(seeds: &[SeedExample]) -> Histogram {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds {
        let year = seed.merged_at.as_deref().and_then(|at| at.get(..4)).unwrap_or("unknown");
        *counts.entry(year.to_owned()).or_default() += 1;
    }
    Histogram { title: "Seeds by year of merge".to_owned(), bars: counts.into_iter().collect() }
}
