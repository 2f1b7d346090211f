//! Each fused operation against the same formula in Burn's own operations: values and gradients.

use burn::nn::{RmsNormConfig, RotaryEncodingConfig};
use burn::tensor::{DType, Device, Distribution, Int, Tensor, TensorData, activation};
use swerl_grpo::batch::{Row, Segment};

use super::plan::Plan;
use super::{head, rms_norm, rotary_attention, swiglu};
use crate::mask;
use crate::rotary::Rotary;

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

#[track_caller]
fn close<const D: usize>(what: &str, a: Tensor<D>, b: Tensor<D>, tolerance: f32) {
    let worst = (a - b).abs().max().into_scalar::<f32>();
    assert!(worst < tolerance, "{what}: {worst}");
}

/// Gradients of `sum(f(inputs) * w)` by each of two ways agree, and so do the values.
#[track_caller]
fn check<const N: usize>(
    inputs: &[Tensor<2>; N],
    fused: impl Fn([Tensor<2>; N]) -> Tensor<2>,
    plain: impl Fn([Tensor<2>; N]) -> Tensor<2>,
) {
    let leaves = || inputs.clone().map(|t| t.autodiff().require_grad());
    let (a, b) = (leaves(), leaves());
    let (ya, yb) = (fused(a.clone()), plain(b.clone()));
    close("value", ya.clone().inner(), yb.clone().inner(), 2e-5);
    let weight = random(ya.dims(), &ya.device().inner()).autodiff();
    let (ga, gb) = ((ya * weight.clone()).sum().backward(), (yb * weight).sum().backward());
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let (a, b) = (a.grad(&ga).expect("a gradient"), b.grad(&gb).expect("a gradient"));
        close(&format!("gradient {i}"), a, b, 1e-4);
    }
}

fn device() -> Device {
    let device = Device::flex();
    device.seed(7);
    device
}

#[test]
fn rms_norm_is_the_plain_one() {
    let device = device();
    let gamma = random([1, 37], &device);
    check(
        &[random([300, 37], &device), gamma],
        |[x, g]| rms_norm(x, g.reshape([37]), 1e-5),
        |[x, g]| {
            let mean = x.clone().square().mean_dim(1);
            x / (mean + 1e-5).sqrt() * g
        },
    );
    let norm = RmsNormConfig::new(37).with_epsilon(1e-5).init(&device);
    let x = random([5, 37], &device);
    close("burn-nn", rms_norm(x.clone(), norm.gamma.val(), 1e-5), norm.forward(x), 1e-5);
}

#[test]
fn swiglu_is_the_plain_one() {
    let device = device();
    check(
        &[random([130, 200], &device) * 4.0, random([130, 200], &device)],
        |[g, u]| swiglu(g, u),
        |[g, u]| activation::silu(g) * u,
    );
}

/// A prompt with three completions, one of which is continued twice, and a plain row.
fn forest() -> Vec<Row> {
    let segment = |start, len, parent| Segment { start, len, parent };
    let segments = vec![
        segment(0, 7, None),
        segment(7, 4, Some(0)),
        segment(11, 6, Some(0)),
        segment(17, 3, Some(2)),
        segment(20, 5, Some(2)),
    ];
    let positions = (0..7).chain(7..11).chain(7..13).chain(13..16).chain(13..18).collect();
    vec![Row { tokens: vec![1; 25], positions, segments }, Row::plain(vec![1; 25])]
}

#[test]
fn attention_is_the_masked_one() {
    let device = device();
    let (heads, kv, h) = (4, 2, 6);
    let rows = forest();
    let freq: Vec<f64> = (0..h / 2).map(|j| 100f64.powf(-2.0 * j as f64 / h as f64)).collect();
    let plan = std::sync::Arc::new(Plan::new(&rows, heads, kv, &freq));
    let positions: Vec<u32> = rows.iter().flat_map(|r| r.positions.clone()).collect();
    let plain = |[q, k, v]: [Tensor<2>; 3]| {
        let device = q.device();
        let rotary = Rotary::new(&freq, &positions, 2, &device);
        let mask = mask::of_rows(&rows, 25, &device);
        let split = |x: Tensor<2>, n: usize| x.reshape([2, 25, n, h]);
        let q = rotary.apply(split(q, heads)).swap_dims(1, 2);
        let expand = |x: Tensor<4>| {
            let x = x.swap_dims(1, 2).unsqueeze_dim::<5>(2).expand([2, kv, heads / kv, 25, h]);
            x.reshape([2, heads, 25, h])
        };
        let (k, v) = (expand(rotary.apply(split(k, kv))), expand(split(v, kv)));
        let scores = q.matmul(k.transpose()) / (h as f64).sqrt() + mask;
        activation::softmax(scores, 3).matmul(v).swap_dims(1, 2).reshape([50, heads * h])
    };
    check(
        &[
            random([50, heads * h], &device),
            random([50, kv * h], &device),
            random([50, kv * h], &device),
        ],
        |[q, k, v]| rotary_attention(q, k, v, plan.clone()),
        plain,
    );
}

#[test]
fn the_head_gives_log_softmax_entropy_and_their_gradients() {
    let device = device();
    let (n, v, t) = (40, 101, 0.7f32);
    let z0: Tensor<2> = random([n, v], &device) * 3.0;
    let tokens: Vec<u32> = (0..n as u32).map(|i| i * 7 % v as u32).collect();
    let z = z0.clone().autodiff().require_grad();
    let log_p = activation::log_softmax(z.clone() / t, 1);
    let ids: Vec<i32> = tokens.iter().map(|&y| y as i32).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [n, 1]), (&z.device(), DType::I32));
    let picked = log_p.clone().gather(1, ids).squeeze_dim::<1>(1);
    let entropy = (log_p.clone().exp() * log_p).sum_dim(1).neg().squeeze_dim::<1>(1);
    let (a, b): (Tensor<1>, Tensor<1>) = (random([n], &device), random([n], &device));
    let host = |x: Tensor<1>| x.into_data().iter::<f32>().collect::<Vec<f32>>();
    let mut logits: Vec<f32> = z0.clone().into_data().iter::<f32>().collect();
    let (lp, ent) = head::score(&mut logits, &tokens, t);
    for (x, y) in lp
        .iter()
        .zip(host(picked.clone().inner()))
        .chain(ent.iter().zip(host(entropy.clone().inner())))
    {
        assert!((x - y).abs() < 2e-5, "{x} {y}");
    }
    let loss = (picked * a.clone().autodiff()).sum() + (entropy * b.clone().autodiff()).sum();
    let exact = z.grad(&loss.backward()).expect("a gradient");
    let values = |z: &Tensor<2>| {
        let mut values = z.clone().into_data().iter::<f32>().collect::<Vec<f32>>();
        head::divide(&mut values, t);
        values
    };
    assert_eq!(logits, values(&z0), "scoring leaves the divided logits");
    let mut logits = values(&z0);
    head::gradient(&mut logits, &tokens, t, &host(a.clone()), Some((&host(b), &ent)));
    let ours = Tensor::<2>::from_data(TensorData::new(logits, [n, v]), (&device, DType::F32));
    close("gradient", ours, exact, 2e-5);
    // Without an entropy term the result is that with a zero one.
    let (mut x, mut y) = (values(&z0), values(&z0));
    head::gradient(&mut x, &tokens, t, &host(a.clone()), None);
    head::gradient(&mut y, &tokens, t, &host(a), Some((&vec![0.0; n], &ent)));
    for (x, y) in x.iter().zip(&y) {
        assert!((x - y).abs() < 1e-6, "{x} {y}");
    }
}

#[test]
fn rotation_is_the_half_split_one() {
    // Burn's own encoding interleaves; only the angle of the first pair agrees between layouts.
    let device = device();
    let theirs = RotaryEncodingConfig::new(8, 2).with_theta(10_000.0).init(&device);
    let x: Tensor<4> = random([1, 1, 5, 2], &device);
    let ours = Rotary::new(&[1.0], &[0, 1, 2, 3, 4], 1, &device).apply(x.clone().swap_dims(1, 2));
    close("pair", ours.swap_dims(1, 2), theirs.forward(x), 1e-5);
}
