//! Scoring does not depend on how sequences are batched, packed or shared.

use swerl_grpo::batch::{Row, Segment, Target, TokenBatch};
use swerl_grpo::policy::{Policy, PolicyError};

use crate::tiny::{batch, close, model, scores, tokens};

#[test]
fn a_batch_of_different_lengths_equals_one_by_one() {
    let model = model(true);
    let rows: Vec<Row> = [5, 23, 2, 11].iter().map(|&n| Row::plain(tokens(n, n as u32))).collect();
    let (together, entropy) = scores(&model, &batch(rows.clone()));
    let mut alone = (Vec::new(), Vec::new());
    for row in rows {
        let (l, e) = scores(&model, &batch(vec![row]));
        alone.0.extend(l);
        alone.1.extend(e);
    }
    close(&together, &alone.0, 1e-5);
    close(&entropy, &alone.1, 1e-5);
}

#[test]
fn a_shared_prompt_equals_separate_rows() {
    let model = model(false);
    let (prompt, answers) = (tokens(9, 1), [tokens(6, 2), tokens(4, 3), tokens(8, 4)]);
    let mut row = Row::plain(prompt.clone());
    let mut targets = Vec::new();
    for (s, answer) in answers.iter().enumerate() {
        let start = row.tokens.len();
        for (i, &token) in answer.iter().enumerate() {
            let index = if i == 0 { prompt.len() - 1 } else { start + i - 1 };
            targets.push(Target { row: 0, index: index as u32, token, sample: s as u32 });
        }
        row.tokens.extend(answer);
        row.positions.extend((0..answer.len() as u32).map(|i| i + prompt.len() as u32));
        row.segments.push(Segment { start, len: answer.len(), parent: Some(0) });
    }
    let shared = TokenBatch { rows: vec![row], targets, temperature: 0.8, samples: 3 };
    let (together, _) = scores(&model, &shared);
    let mut alone = Vec::new();
    for answer in &answers {
        let whole = [prompt.clone(), answer.clone()].concat();
        let mut one = batch(vec![Row::plain(whole)]);
        one.temperature = 0.8;
        alone.extend_from_slice(&scores(&model, &one).0[prompt.len() - 1..]);
    }
    close(&together, &alone, 1e-5);
}

#[test]
fn packed_roots_equal_separate_rows() {
    let model = model(true);
    let (a, b) = (tokens(7, 5), tokens(9, 6));
    let separate = scores(&model, &batch(vec![Row::plain(a.clone()), Row::plain(b.clone())])).0;
    let row = Row {
        tokens: [a, b].concat(),
        positions: (0..7).chain(0..9).collect(),
        segments: vec![
            Segment { start: 0, len: 7, parent: None },
            Segment { start: 7, len: 9, parent: None },
        ],
    };
    let mut packed = batch(vec![row]);
    packed.targets.retain(|t| t.index != 6);
    close(&scores(&model, &packed).0, &separate, 1e-5);
}

#[test]
fn probabilities_sum_to_one_and_entropy_is_theirs() {
    let model = model(true);
    let row = Row::plain(tokens(6, 9));
    let targets = (0..61).map(|token| Target { row: 0, index: 4, token, sample: 0 }).collect();
    let all = TokenBatch { rows: vec![row], targets, temperature: 1.3, samples: 1 };
    let (log_probs, entropies) = scores(&model, &all);
    let sum: f64 = log_probs.iter().map(|l| f64::from(*l).exp()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    let entropy: f64 = log_probs.iter().map(|l| -f64::from(*l).exp() * f64::from(*l)).sum();
    assert!((entropy - f64::from(entropies[0])).abs() < 1e-4);
}

#[test]
fn ids_and_positions_outside_the_model_are_named() {
    let model = model(true);
    let mut bad = batch(vec![Row::plain(tokens(4, 1))]);
    bad.rows[0].tokens[2] = 61;
    assert!(matches!(
        model.score(&bad),
        Err(PolicyError::Token { row: 0, index: 2, token: 61, vocabulary: 61 })
    ));
    let long = batch(vec![Row::plain(tokens(257, 1))]);
    assert!(matches!(
        model.score(&long),
        Err(PolicyError::Context { position: 256, context: 256, .. })
    ));
}
