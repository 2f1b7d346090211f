//! Supervised sequences: the prompt of a seed, then the oracle's answer as the policy should
//! write it, then the end token.
//!
//! The answer is the shortest set of edits that turns the context into the oracle
//! ([`swerl_reward::minimal_edits`]), after a thought that the caller writes. It is scored before
//! it is used: an answer that does not earn 1.0 teaches the wrong thing and is left out, with its
//! reason counted. Prompt and answer are encoded apart, as they are in sampling.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::Sequence;
use swerl_reward::format::render_answer;
use swerl_reward::{minimal_edits, score_search_replace};

use crate::codec::TextCodec;
use crate::noise::{NoiseKey, Stream};
use crate::prompt::PromptBuilder;

/// How seeds become supervised sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftSettings {
    /// The token that ends an answer.
    pub stop_id: u32,
    /// Longest answer in tokens, the end token included.
    pub max_answer_tokens: usize,
    /// Seed of the file order.
    pub seed: u64,
    /// Whether files are shown in an order drawn by counter, as in sampling.
    pub shuffle_files: bool,
}

/// Why a seed gives no supervised sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SftSkip {
    /// The prompt has no room for its files.
    PromptOverBudget,
    /// A file to be edited is not in the prompt.
    EditedFileNotShown,
    /// The answer is longer than allowed.
    AnswerTooLong,
    /// The answer does not score 1.0: the thought holds a tag of the format or is empty, or a file
    /// cannot be written as an edit.
    NotExact,
}

/// One sequence to imitate.
#[derive(Debug, Clone, PartialEq)]
pub struct SftExample {
    /// Id of the seed.
    pub id: String,
    /// Prompt and answer; the answer is the policy's.
    pub sequence: Sequence,
    /// The answer's text.
    pub answer: String,
}

/// The answer that earns 1.0 on `seed`.
///
/// # Errors
/// [`SftSkip::NotExact`].
pub fn oracle_answer(seed: &SeedExample, thought: &str) -> Result<String, SftSkip> {
    let context = seed.context();
    let answer = render_answer(thought, &minimal_edits(&context, &seed.oracle));
    let score = score_search_replace(&context, &seed.oracle, &answer);
    score.is_exact().then_some(answer).ok_or(SftSkip::NotExact)
}

/// The supervised sequence of one seed. `number` is its counter for the file order.
///
/// # Errors
/// [`SftSkip`], the reason to leave it out.
pub fn supervised<C: TextCodec>(
    builder: &PromptBuilder<C>,
    seed: &SeedExample,
    number: u64,
    thought: &str,
    settings: &SftSettings,
) -> Result<SftExample, SftSkip> {
    let order = NoiseKey {
        stream: Stream::FileOrder,
        seed: settings.seed,
        step: 0,
        prompt: number,
        sample: 0,
    };
    let prompt = builder.build(seed, settings.shuffle_files.then_some(order));
    if prompt.over_budget {
        return Err(SftSkip::PromptOverBudget);
    }
    if prompt.skipped.iter().any(|path| seed.oracle.contains_key(path)) {
        return Err(SftSkip::EditedFileNotShown);
    }
    let answer = oracle_answer(seed, thought)?;
    let mut ids = builder.codec().encode(&answer);
    ids.push(settings.stop_id);
    if ids.len() > settings.max_answer_tokens {
        return Err(SftSkip::AnswerTooLong);
    }
    Ok(SftExample {
        id: seed.id.clone(),
        sequence: Sequence::supervised(&prompt.ids, &ids),
        answer,
    })
}

/// The supervised sequences of all `seeds` that give one, in order, and why the others do not.
///
/// `thought` writes what stands between the think tags, say from the title and the edited
/// files.
pub fn supervised_set<C: TextCodec>(
    builder: &PromptBuilder<C>,
    seeds: &[SeedExample],
    thought: &(dyn Fn(&SeedExample) -> String + Sync),
    settings: &SftSettings,
) -> (Vec<SftExample>, BTreeMap<SftSkip, u64>) {
    let results: Vec<Result<SftExample, SftSkip>> = seeds
        .par_iter()
        .enumerate()
        .map(|(number, seed)| supervised(builder, seed, number as u64, &thought(seed), settings))
        .collect();
    let mut examples = Vec::with_capacity(seeds.len());
    let mut skipped = BTreeMap::new();
    for result in results {
        match result {
            Ok(example) => examples.push(example),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    (examples, skipped)
}
