//! `swerl rollouts show`: prompts and completions to read.

use anyhow::{Result, bail};

use super::trace::{Completion, Prompt, Record, Trace};
use super::{number, printable};
use crate::{
    cli::{RolloutChoice, RolloutShowArgs},
    output::Output,
};

/// Runs the command.
pub(super) fn run(args: &RolloutShowArgs, out: &mut Output) -> Result<()> {
    let mut prompt: Option<Prompt> = None;
    let (mut shown, mut more) = (0, 0_u64);
    for record in Trace::open(&args.trace)? {
        match record? {
            Record::Prompt(next) => prompt = Some(next),
            Record::Completion(completion) => {
                if !wanted(&args.choice, prompt.as_ref(), &completion)
                    || args.sample.is_some_and(|sample| sample != completion.sample)
                    || args
                        .outcome
                        .as_ref()
                        .is_some_and(|kind| kind != completion.score.outcome.kind())
                    || args
                        .at_least
                        .is_some_and(|least| completion.reward.is_none_or(|r| r < least))
                    || args.at_most.is_some_and(|most| completion.reward.is_none_or(|r| r > most))
                {
                    continue;
                }
                if shown == args.limit {
                    more += 1;
                    continue;
                }
                shown += 1;
                show(args, prompt.as_ref(), &completion, out)?;
            }
        }
    }
    if shown == 0 {
        bail!("{}: no such completion", args.trace.display());
    }
    if more > 0 {
        eprintln!("{more} more; --limit {} shows them", shown as u64 + more);
    }
    Ok(())
}

/// Whether a completion belongs to the steps and prompts asked for.
pub(super) fn wanted(
    choice: &RolloutChoice,
    prompt: Option<&Prompt>,
    completion: &Completion,
) -> bool {
    let named = |id: &String| prompt.is_some_and(|prompt| prompt.id == *id);
    choice.step.is_none_or(|step| step == completion.step)
        && choice.prompt.is_none_or(|number| number == completion.prompt)
        && choice.id.as_ref().is_none_or(named)
}

fn show(
    args: &RolloutShowArgs,
    prompt: Option<&Prompt>,
    completion: &Completion,
    out: &mut Output,
) -> Result<()> {
    let id = prompt.map_or("?", |prompt| prompt.id.as_str());
    out.line(&format!(
        "=== step {}, prompt {} ({}), sample {}: reward {} ({}), {} tokens, {}, weights {}",
        completion.step,
        completion.prompt,
        printable(id),
        completion.sample,
        number(completion.reward),
        printable(&completion.score.outcome.to_string()),
        completion.ids.len(),
        printable(&completion.finish),
        completion.weights_version,
    ))?;
    if let Some(prompt) = prompt.filter(|_| args.with_prompt) {
        out.line(&format!(
            "--- prompt: {} tokens, {} files shown, {} left out",
            prompt.ids.len(),
            prompt.files.len(),
            prompt.skipped.len()
        ))?;
        out.line(&printable(&prompt.text))?;
    }
    if args.with_prompt {
        out.line("--- completion")?;
    }
    out.line(&printable(&completion.text))?;
    if args.tokens {
        out.line("--- tokens")?;
        for (id, log_prob) in completion.ids.iter().zip(&completion.log_probs) {
            out.line(&format!("{id:>8} {log_prob:>10.4}"))?;
        }
    }
    Ok(())
}
