//! Supervised sequences from oracles.

use std::collections::BTreeMap;

use swerl_data::SeedExample;
use swerl_rollout::{
    PromptBuilder, SftSettings, SftSkip, Template, TextCodec, oracle_answer, supervised_set,
};

use crate::support::{Bytes, seed, seeds};

fn settings() -> SftSettings {
    SftSettings { stop_id: Bytes::EOS, max_answer_tokens: 1000, seed: 1, shuffle_files: true }
}

fn builder() -> PromptBuilder<Bytes> {
    PromptBuilder::new(Bytes, Template::Compact, 400)
}

#[test]
fn sequences_are_prompt_answer_and_one_end_token() {
    let seeds = seeds(5);
    let thought = |seed: &SeedExample| format!("{}: {}", seed.files[0].path, seed.issue.title);
    let (examples, skipped) = supervised_set(&builder(), &seeds, &thought, &settings());
    assert!(skipped.is_empty());
    for (example, seed) in examples.iter().zip(&seeds) {
        assert_eq!(example.id, seed.id);
        let sequence = &example.sequence;
        sequence.validate(&seed.id, 0).expect("well formed");
        let prompt = sequence.policy_mask.iter().filter(|made| !**made).count();
        assert!(sequence.policy_mask[prompt..].iter().all(|made| *made));
        let (end, answer) = sequence.tokens[prompt..].split_last().expect("an answer");
        assert_eq!(*end, Bytes::EOS);
        assert_eq!(Bytes.decode(answer), example.answer);
        assert!(Bytes.decode(&sequence.tokens[..prompt]).ends_with("<answer>\n"));
        assert!(example.answer.contains(&thought(seed)));
        let score =
            swerl_reward::score_search_replace(&seed.context(), &seed.oracle, &example.answer);
        assert_eq!(score.reward, 1.0);
    }
}

#[track_caller]
fn check(seed: SeedExample, thought: &str, settings: &SftSettings, reason: SftSkip) {
    let say = |_: &SeedExample| thought.to_owned();
    let (examples, skipped) = supervised_set(&builder(), &[seed], &say, settings);
    assert!(examples.is_empty());
    assert_eq!(skipped, BTreeMap::from([(reason, 1)]));
}

#[test]
fn what_cannot_be_taught_is_left_out_with_its_reason() {
    let large = |index: usize| {
        let mut seed = seed(1);
        seed.files[index].text += &"x = 1\n".repeat(100);
        seed
    };
    check(large(0), "t", &settings(), SftSkip::EditedFileNotShown);
    let mut both = large(0);
    both.files[1].text = both.files[0].text.clone();
    check(both, "t", &settings(), SftSkip::PromptOverBudget);
    let short = SftSettings { max_answer_tokens: 20, ..settings() };
    check(seed(1), "t", &short, SftSkip::AnswerTooLong);
    check(seed(1), "", &settings(), SftSkip::NotExact);
    check(seed(1), "a <think> inside", &settings(), SftSkip::NotExact);
    // A related file that is skipped does no harm.
    let (examples, _) = supervised_set(&builder(), &[large(1)], &|_| "t".to_owned(), &settings());
    assert_eq!(examples.len(), 1);
}

#[test]
fn new_and_deleted_files_can_be_taught() {
    let mut seed = seed(1);
    seed.oracle.insert("shop/new.py".to_owned(), "A = 1\n".to_owned());
    assert!(oracle_answer(&seed, "t").is_ok());
    seed.oracle.insert(seed.files[0].path.clone(), String::new());
    assert!(oracle_answer(&seed, "t").is_ok());
}
