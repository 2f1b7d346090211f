//! `swerl rollouts diff`: two samples of one prompt line by line, or two traces sample by sample.

use std::path::Path;

use anyhow::{Context, Result, bail};
use swerl::reward::unified_patch;

use super::show::wanted;
use super::trace::{Completion, Prompt, Record, Trace};
use super::{number, printable};
use crate::{cli::RolloutDiffArgs, output::Output};

/// Most differences between two traces that are printed.
const SHOWN: u64 = 10;

/// Runs the command.
pub(super) fn run(args: &RolloutDiffArgs, out: &mut Output) -> Result<()> {
    match &args.against {
        Some(other) => traces(&args.trace, other, out),
        None => samples(args, out),
    }
}

/// The best and the worst judged sample of the first prompt that is meant, or the two that are named.
fn samples(args: &RolloutDiffArgs, out: &mut Output) -> Result<()> {
    let mut group: Vec<Completion> = Vec::new();
    let mut name = None;
    let mut prompt: Option<Prompt> = None;
    for record in Trace::open(&args.trace)? {
        match record? {
            Record::Prompt(next) => {
                if !group.is_empty() {
                    break;
                }
                prompt = Some(next);
            }
            Record::Completion(completion) => {
                if wanted(&args.choice, prompt.as_ref(), &completion) {
                    name = prompt.as_ref().map(|prompt| prompt.id.clone());
                    group.push(completion);
                }
            }
        }
    }
    let trace = args.trace.display();
    if group.is_empty() {
        bail!("{trace}: no such prompt");
    }
    let (a, b) = match args.samples {
        Some((a, b)) => (find(&group, a, &args.trace)?, find(&group, b, &args.trace)?),
        None => {
            let mut judged: Vec<&Completion> =
                group.iter().filter(|completion| completion.reward.is_some()).collect();
            judged.sort_by(|a, b| b.reward.unwrap_or(0.0).total_cmp(&a.reward.unwrap_or(0.0)));
            match (judged.first(), judged.last()) {
                (Some(best), Some(worst)) if judged.len() > 1 => (*best, *worst),
                _ => bail!("{trace}: fewer than two judged samples; name two with --samples A,B"),
            }
        }
    };
    out.line(&format!(
        "step {}, prompt {} ({})",
        a.step,
        a.prompt,
        printable(name.as_deref().unwrap_or("?"))
    ))?;
    for (mark, one) in [("-", a), ("+", b)] {
        out.line(&format!(
            "{mark} sample {}: reward {} ({})",
            one.sample,
            number(one.reward),
            printable(&one.score.outcome.to_string())
        ))?;
    }
    let patch = unified_patch(&a.text, &b.text);
    out.line(&if patch.is_empty() { "the texts are equal".to_owned() } else { printable(&patch) })
}

fn find<'g>(group: &'g [Completion], sample: u64, trace: &Path) -> Result<&'g Completion> {
    let found = group.iter().find(|completion| completion.sample == sample);
    found.with_context(|| format!("{}: the prompt has no sample {sample}", trace.display()))
}

/// Compares two traces record by record: the same run replayed gives equal ones.
fn traces(path: &Path, other: &Path, out: &mut Output) -> Result<()> {
    let completions = |path: &Path| -> Result<_> {
        Ok(Trace::open(path)?.filter_map(|record| match record {
            Ok(Record::Completion(completion)) => Some(Ok(completion)),
            Ok(Record::Prompt(_)) => None,
            Err(error) => Some(Err(error)),
        }))
    };
    let (mut left, mut right) = (completions(path)?, completions(other)?);
    let (mut same, mut ids, mut rewards, mut shown) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut worst = 0.0_f32;
    let mut line = |text: String, out: &mut Output| {
        shown += 1;
        if shown <= SHOWN { out.line(&text) } else { Ok(()) }
    };
    loop {
        let (a, b) = match (left.next().transpose()?, right.next().transpose()?) {
            (Some(a), Some(b)) => (a, b),
            (None, None) => break,
            (a, _) => {
                let longer = if a.is_some() { path } else { other };
                bail!("{} has more completions", longer.display());
            }
        };
        let place = |c: &Completion| (c.step, c.prompt, c.sample);
        if place(&a) != place(&b) {
            bail!(
                "the traces are of different runs: {:?} stands beside {:?}",
                place(&a),
                place(&b)
            );
        }
        let name = format!("step {}, prompt {}, sample {}", a.step, a.prompt, a.sample);
        if a.ids != b.ids {
            ids += 1;
            let at = a.ids.iter().zip(&b.ids).take_while(|(a, b)| a == b).count();
            line(format!("{name}: tokens differ from number {at} on"), out)?;
            continue;
        }
        let difference =
            a.log_probs.iter().zip(&b.log_probs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        worst = worst.max(difference);
        if a.reward == b.reward {
            same += u64::from(difference == 0.0);
        } else {
            rewards += 1;
            line(format!("{name}: reward {} and {}", number(a.reward), number(b.reward)), out)?;
        }
    }
    out.line(&format!(
        "{same} equal, {ids} with other tokens, {rewards} with another reward; largest difference of \
         log-probs with equal tokens {worst:e}"
    ))
}
