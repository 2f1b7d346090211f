//! Rows, targets, packing, and that a shared prompt changes no score and no gradient.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use swerl_grpo::batch::{Piece, split_by_budget};
use swerl_grpo::{
    BatchError, Finish, Group, Member, Policy, RolloutSource, Row, Segment, Sequence, Target,
    TokenBatch, TokenScores,
};

use crate::support::{Repeats, TinyPolicy, assert_close, flat};

fn sequence(tokens: &[u32], mask: &[u8]) -> Sequence {
    Sequence {
        tokens: tokens.to_vec(),
        policy_mask: mask.iter().map(|&made| made == 1).collect(),
        behaviour_log_probs: vec![0.0; tokens.len()],
        weights_version: 0,
        finish: Finish::Stop,
    }
}

/// Two completions of the prompt 5, 6; the second has a token of its environment in the middle.
fn group() -> Group {
    Group {
        prompt_len: 2,
        sequences: vec![
            sequence(&[5, 6, 1], &[0, 0, 1]),
            sequence(&[5, 6, 2, 3, 4], &[0, 0, 1, 0, 1]),
        ],
        rewards: vec![Some(1.0), None],
        id: "g".to_owned(),
    }
}

fn target(row: u32, index: u32, token: u32, sample: u32) -> Target {
    Target { row, index, token, sample }
}

#[test]
fn a_group_is_one_row_with_a_shared_prompt() {
    let batch = TokenBatch::from_groups(&[group()], 0.5).unwrap();
    assert_eq!(batch.samples, 2);
    assert_eq!(batch.temperature, 0.5);
    let segment = |start, len, parent| Segment { start, len, parent };
    assert_eq!(
        batch.rows,
        [Row {
            tokens: vec![5, 6, 1, 2, 3, 4],
            positions: vec![0, 1, 2, 2, 3, 4],
            segments: vec![segment(0, 2, None), segment(2, 1, Some(0)), segment(3, 3, Some(0))],
        }]
    );
    // First tokens are predicted by the prompt's last state, 1.
    assert_eq!(batch.targets, [target(0, 1, 1, 0), target(0, 1, 2, 1), target(0, 4, 4, 1)]);
    batch.validate().unwrap();
    assert_eq!((batch.tokens(), batch.longest_row()), (6, 6));
}

#[test]
fn a_token_sees_its_segments_past_and_its_ancestors_only() {
    let row = &TokenBatch::from_groups(&[group()], 1.0).unwrap().rows[0];
    let seen: Vec<Vec<usize>> =
        (0..6).map(|query| (0..6).filter(|&key| row.sees(query, key)).collect()).collect();
    let expected: [&[usize]; 6] =
        [&[0], &[0, 1], &[0, 1, 2], &[0, 1, 3], &[0, 1, 3, 4], &[0, 1, 3, 4, 5]];
    assert_eq!(seen, expected);
}

#[test]
fn sequences_are_packed_up_to_the_row_length() {
    let group = group();
    let lengths = |row_tokens| {
        let batch = TokenBatch::from_sequences(&group.sequences, row_tokens, 1.0).unwrap();
        batch.validate().unwrap();
        batch.rows.iter().map(|row| row.tokens.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(None), [3, 5]);
    assert_eq!(lengths(Some(7)), [3, 5]);
    assert_eq!(lengths(Some(8)), [8]);
    assert_eq!(lengths(Some(1)), [3, 5]);
    let packed = TokenBatch::from_sequences(&group.sequences, Some(8), 1.0).unwrap();
    assert_eq!(packed.rows[0].positions, [0, 1, 2, 0, 1, 2, 3, 4]);
    assert_eq!(packed.targets[1], target(0, 4, 2, 1));
    assert!(!packed.rows[0].sees(3, 2));
}

#[test]
fn malformed_groups_are_named() {
    let check = |change: fn(&mut Group), expected: &str| {
        let mut group = group();
        change(&mut group);
        let error = TokenBatch::from_groups(&[group], 1.0).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(|g| g.rewards.clear(), "g: 0 rewards for 2 sequences");
    check(|g| g.sequences[1].tokens[0] = 9, "sequence 1: it does not start with");
    check(|g| g.prompt_len = 0, "sequence 0: it does not start with");
    check(|g| g.prompt_len = 9, "sequence 0: it does not start with");
    check(|g| g.sequences[1].policy_mask[1] = true, "sequence 1: a prompt token");
    check(|g| g.sequences[0].policy_mask[2] = false, "no token is marked");
    check(|g| g.sequences[0].policy_mask[0] = true, "nothing precedes it");
    check(|g| g.sequences[0].policy_mask.push(true), "policy_mask has 4 entries for 3");
    check(|g| g.rewards[0] = Some(f64::NAN), "the reward is NaN");
    let error = TokenBatch::from_groups(&[group()], 0.0).unwrap_err();
    assert_eq!(error, BatchError::Temperature { value: 0.0 });
    let member = Member { group: 0, sequence: 7 };
    let error = TokenBatch::from_members(&[group()], &[member], 1.0).unwrap_err();
    assert_eq!(error.to_string(), "no sequence 7 in group 0");
}

#[test]
fn broken_batches_are_refused() {
    let check = |change: fn(&mut TokenBatch), expected: &str| {
        let mut batch = TokenBatch::from_groups(&[group()], 1.0).unwrap();
        change(&mut batch);
        let error = batch.validate().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(|b| b.rows[0].segments[1].parent = Some(1), "before its parent");
    check(|b| b.rows[0].segments[1].start = 3, "gap");
    check(|b| b.rows[0].segments.truncate(2), "do not cover");
    check(|b| b.rows[0].positions.truncate(2), "differ in length");
    check(|b| b.targets[1].index = 6, "target 1 points outside");
    check(|b| b.targets[2].sample = 2, "target 2 points outside");
    check(|b| b.temperature = f32::NAN, "temperature is NaN");
}

/// The prompt computed once for its group gives what each sequence gives by itself.
#[test]
fn a_shared_prompt_changes_neither_scores_nor_gradients() {
    let policy = TinyPolicy::new(1);
    let groups = Repeats::new(3).collect(0, &policy).unwrap();
    let sequences: Vec<Sequence> = groups.iter().flat_map(|g| g.sequences.clone()).collect();
    let shared = TokenBatch::from_groups(&groups, 0.7).unwrap();
    assert_eq!(shared.rows.len(), groups.len());
    for row_tokens in [None, Some(30)] {
        let plain = TokenBatch::from_sequences(&sequences, row_tokens, 0.7).unwrap();
        let count = shared.targets.len();
        let (a, b) = (policy.score(&shared).unwrap(), policy.score(&plain).unwrap());
        let ((a, a_entropy), (b, b_entropy)) = (a.to_host().unwrap(), b.to_host().unwrap());
        assert_close(&a, &b, 1e-6);
        assert_close(&a_entropy, &b_entropy, 1e-6);
        let device = policy.embed.val().device();
        let slopes = (0..count).map(|t| (t % 5) as f32 - 1.5).collect();
        let upstream = TokenScores::from_host(slopes, vec![0.3; count], &device);
        let gradient = |batch| flat(&policy, &policy.backward(batch, &upstream).unwrap());
        assert_close(&gradient(&shared), &gradient(&plain), 2e-5);
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 256,
        rng_seed: RngSeed::Fixed(8),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn micro_batches_cover_all_and_keep_the_budget(
        pieces in prop::collection::vec((0_usize..4, 1_usize..9), 0..20), budget in 1_usize..60,
    ) {
        // Rows numbered in order; the shared part depends on the row alone.
        let mut row = 0;
        let pieces: Vec<Piece> = pieces
            .into_iter()
            .map(|(step, own)| {
                row += usize::from(step == 0);
                Piece { row, shared: 2 + row % 3, own }
            })
            .collect();
        let runs = split_by_budget(&pieces, budget);
        let covered: Vec<usize> = runs.iter().cloned().flatten().collect();
        prop_assert_eq!(covered, (0..pieces.len()).collect::<Vec<_>>());
        for run in runs {
            let pieces = &pieces[run];
            let rows: Vec<usize> = pieces
                .chunk_by(|a, b| a.row == b.row)
                .map(|row| row[0].shared + row.iter().map(|piece| piece.own).sum::<usize>())
                .collect();
            let cost = rows.len() * rows.iter().max().unwrap();
            prop_assert!(cost <= budget || pieces.len() == 1, "{cost} {budget}");
        }
    }
}
