//! Decoding with the cache gives the distributions of scoring without it.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;
use swerl_grpo::batch::Row;

use crate::tiny::{batch, close, model, scores, tokens};

fn picked(logits: Tensor<2>, ids: &[u32]) -> Vec<f32> {
    let vocab = logits.dims()[1];
    let all: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
    ids.iter().enumerate().map(|(row, &id)| all[row * vocab + id as usize]).collect()
}

#[test]
fn prefill_and_steps_equal_scoring() {
    for tied in [true, false] {
        let model = model(tied);
        let decoder = model.valid();
        let prompts = [tokens(5, 1), tokens(12, 2), tokens(1, 3)];
        let (samples, new) = (2, 6);
        let answers: Vec<Vec<u32>> = (0..6).map(|i| tokens(new, 40 + i)).collect();
        let (cache, first) = decoder.prefill(&prompts);
        let spread: Vec<Tensor<2>> =
            (0..3).flat_map(|p| vec![first.clone().narrow(0, p, 1); samples]).collect();
        let mut got: Vec<Vec<f32>> = vec![Vec::new(); 6];
        let ids = |t: usize| answers.iter().map(|a| a[t]).collect::<Vec<u32>>();
        let mut logits = Tensor::cat(spread, 0);
        let mut decode = cache.fork(samples, new);
        assert_eq!(decode.rows(), 6);
        for t in 0..new {
            for (row, lp) in picked(logits.clone(), &ids(t)).into_iter().enumerate() {
                got[row].push(lp);
            }
            logits = decoder.step(&mut decode, &ids(t));
        }
        assert!(!decode.has_room());
        for (row, answer) in answers.iter().enumerate() {
            let prompt = &prompts[row / samples];
            let whole = [prompt.clone(), answer.clone()].concat();
            let (all, _) = scores(&model, &batch(vec![Row::plain(whole)]));
            close(&got[row], &all[prompt.len() - 1..], 2e-5);
        }
    }
}

#[test]
fn dropping_rows_leaves_the_others_as_they_were() {
    let model = model(true).valid();
    let prompts = [tokens(5, 1), tokens(9, 2), tokens(3, 3)];
    let (cache, _) = model.prefill(&prompts);
    let (mut all, mut some) = (cache.fork(2, 4), cache.fork(2, 4));
    model.step(&mut all, &[1, 2, 3, 4, 5, 6]);
    model.step(&mut some, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(some.retain(&[true, true, false, false, false, true]), [0, 1, 5]);
    assert_eq!(some.rows(), 3);
    let full = picked(model.step(&mut all, &[7, 8, 9, 10, 11, 12]), &[1; 6]);
    let part = picked(model.step(&mut some, &[7, 8, 12]), &[1; 3]);
    close(&part, &[full[0], full[1], full[5]], 1e-6);
}

#[test]
fn rows_join_running_ones_at_positions_of_their_own() {
    let model = model(true).valid();
    let (early, _) = model.prefill(&[tokens(7, 1)]);
    let (late, _) = model.prefill(&[tokens(4, 2), tokens(11, 3)]);
    let mut alone = late.fork(1, 3);
    let mut joined = early.fork(2, 5);
    assert!(joined.appends());
    model.step(&mut joined, &[1, 2]);
    joined.append(late.fork(1, 3));
    let expected = picked(model.step(&mut alone, &[5, 6]), &[1; 2]);
    let got = picked(model.step(&mut joined, &[3, 4, 5, 6]), &[1; 4]);
    close(&got[2..], &expected, 1e-6);
}

#[test]
#[should_panic(expected = "each sequence has room")]
fn a_full_cache_is_the_callers_fault() {
    let model = model(true).valid();
    let (cache, _) = model.prefill(&[vec![1, 2]]);
    let mut decode = cache.fork(1, 1);
    model.step(&mut decode, &[3]);
    model.step(&mut decode, &[3]);
}
