//! Draws follow the distribution they say they follow.

use swerl_rollout::{NoiseKey, SamplingParams, Stream, draw_allowed};

const DRAWS: u64 = 20_000;

/// Chi-square of 20,000 draws against probabilities computed here, by another route.
#[track_caller]
fn check(params: &SamplingParams, kept: &[usize]) {
    let logits: [f32; 10] = [0.3, -1.2, 2.0, 0.0, 1.1, -0.4, 2.0, -3.0, 0.9, 1.7];
    let weight = |&token: &usize| (f64::from(logits[token]) / params.temperature).exp();
    let total: f64 = kept.iter().map(weight).sum();
    let whole: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    let raw = |token: usize| f64::from(logits[token]) - whole.ln();
    let mut counts = [0_u32; 10];
    for sample in 0..DRAWS {
        let key = NoiseKey { stream: Stream::Tokens, seed: 5, step: 2, prompt: 1, sample };
        let drawn = draw_allowed(&logits, params.forbidden(0), params, key.uniform(0))
            .expect("finite logits");
        assert!((f64::from(drawn.raw_log_prob) - raw(drawn.token as usize)).abs() < 1e-6);
        let token = drawn.token as usize;
        counts[token] += 1;
        let expected = (weight(&token) / total).ln();
        assert!((f64::from(drawn.log_prob) - expected).abs() < 1e-6, "{drawn:?}");
    }
    let outside: u32 =
        (0..10).filter(|token| !kept.contains(token)).map(|token| counts[token]).sum();
    assert_eq!(outside, 0);
    let chi: f64 = kept
        .iter()
        .map(|token| {
            let expected = weight(token) / total * DRAWS as f64;
            (f64::from(counts[*token]) - expected).powi(2) / expected
        })
        .sum();
    // 99.9% quantiles of chi-square with 1 to 9 degrees of freedom.
    let quantile = [10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12, 27.88];
    assert!(chi < quantile[kept.len() - 2], "{chi} of {params:?}");
}

#[test]
fn chi_square_for_each_option() {
    let all: Vec<usize> = (0..10).collect();
    let plain = SamplingParams::plain(1, &[]);
    check(&plain, &all);
    check(&SamplingParams { temperature: 0.7, ..plain.clone() }, &all);
    check(&SamplingParams { temperature: 1.6, ..plain.clone() }, &all);
    check(&SamplingParams { top_k: 4, ..plain.clone() }, &[2, 6, 9, 4]);
    check(&SamplingParams { top_k: 10, ..plain.clone() }, &all);
    // Mass in falling order: 0.254, 0.254, 0.188, 0.103, ...
    check(&SamplingParams { top_p: 0.75, ..plain.clone() }, &[2, 6, 9, 4]);
    // Shares of the largest: 1, 1, 0.74, 0.41, 0.33, ...; at T = 2 the roots of those.
    check(&SamplingParams { min_p: 0.35, ..plain.clone() }, &[2, 6, 9, 4]);
    check(&SamplingParams { min_p: 0.7, ..plain.clone() }, &[2, 6, 9]);
    check(&SamplingParams { min_p: 0.6, temperature: 2.0, ..plain.clone() }, &[2, 6, 9, 4]);
    check(
        &SamplingParams { min_new_tokens: 1, stop_ids: vec![2, 5], ..plain.clone() },
        &[0, 1, 3, 4, 6, 7, 8, 9],
    );
    let both = SamplingParams { temperature: 0.7, top_k: 5, top_p: 0.9, ..plain };
    check(&both, &[2, 6, 9, 4]);
}
