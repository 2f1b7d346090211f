//! Gradients against finite differences along their own direction, for every kind of parameter.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};
use swerl_grpo::batch::{Row, TokenBatch};
use swerl_grpo::policy::{Policy, TokenScores};
use swerl_model::CausalLm;

use crate::tiny::{batch, model, scores, tokens};

struct Norm<'a>(&'a GradientsParams, f64, usize);
impl ModuleVisitor for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
        let g = self.0.get::<D>(p.id).expect("every parameter has a gradient");
        self.1 += f64::from(g.square().sum().into_scalar::<f32>());
        self.2 += 1;
    }
}

struct Along<'a>(&'a GradientsParams, f64);
impl ModuleMapper for Along<'_> {
    fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let g = self.0.get::<D>(p.id).expect("every parameter has a gradient");
        let by = self.1;
        p.map(|t| (t.inner() + g * by).autodiff().require_grad())
    }
}

fn upstream(n: usize, with_entropy: bool) -> (Vec<f32>, Vec<f32>) {
    let a = (0..n).map(|i| ((i * 7 % 5) as f32 - 2.0) / n as f32).collect();
    let b = (0..n).map(|i| if with_entropy { ((i * 3 % 7) as f32 - 3.0) / n as f32 } else { 0.0 });
    (a, b.collect())
}

fn objective(model: &CausalLm, batch: &TokenBatch, with_entropy: bool) -> f64 {
    let (log_probs, entropies) = scores(model, batch);
    let (a, b) = upstream(log_probs.len(), with_entropy);
    let sum = |x: &[f32], w: &[f32]| {
        x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>()
    };
    sum(&log_probs, &a) + sum(&entropies, &b)
}

#[test]
fn gradients_are_the_slope_along_themselves() {
    for (tied, with_entropy) in [(true, false), (false, false), (true, true)] {
        let model = model(tied);
        let mut batch = batch(vec![Row::plain(tokens(20, 1)), Row::plain(tokens(13, 2))]);
        batch.temperature = 0.9;
        let (a, b) = upstream(batch.targets.len(), with_entropy);
        let device = Device::flex();
        let gradients = model.backward(&batch, &TokenScores::from_host(a, b, &device)).unwrap();
        let mut norm = Norm(&gradients, 0.0, 0);
        model.visit(&mut norm);
        assert_eq!(norm.2, 2 * 9 + 2 + usize::from(!tied));
        // Along g / |g| the slope is |g|.
        let length = norm.1.sqrt();
        let h = 5e-3;
        let at = |by: f64| {
            objective(&model.clone().map(&mut Along(&gradients, by / length)), &batch, with_entropy)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        assert!((slope / length - 1.0).abs() < 5e-3, "{slope} {length}");
    }
}

#[test]
fn one_forward_or_two_give_the_same_gradients() {
    let model = model(true);
    let batch = batch(vec![Row::plain(tokens(15, 3))]);
    let n = batch.targets.len();
    let (a, b) = upstream(n, false);
    let given = TokenScores::from_host(a, b, &Device::flex());
    let mut seen = Vec::new();
    let one = model
        .score_backward(&batch, &mut |s| {
            seen = s.to_host()?.0;
            Ok(given.clone())
        })
        .unwrap();
    let two = model.backward(&batch, &given).unwrap();
    assert_eq!(seen, scores(&model, &batch).0, "the scores of both phases are equal to the bit");
    assert_eq!(difference(&model, &one, &two), 0.0);
}

/// Largest difference between two sets of gradients.
fn difference(model: &CausalLm, one: &GradientsParams, two: &GradientsParams) -> f32 {
    struct Worst<'a>(&'a GradientsParams, &'a GradientsParams, f32);
    impl ModuleVisitor for Worst<'_> {
        fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
            let gradient = |of: &GradientsParams| of.get::<D>(p.id).expect("a gradient");
            let worst = (gradient(self.0) - gradient(self.1)).abs().max().into_scalar::<f32>();
            assert!(worst.is_finite());
            self.2 = self.2.max(worst);
        }
    }
    let mut worst = Worst(one, two, 0.0);
    model.visit(&mut worst);
    worst.2
}

/// Twelve rows of different lengths, 2,055 tokens: the CPU computes them in four parts.
fn many_rows() -> Vec<Row> {
    (0..12u32).map(|i| Row::plain(tokens(105 + 12 * (i as usize * 5 % 12), i))).collect()
}

fn gradients(model: &CausalLm, batch: &TokenBatch) -> GradientsParams {
    let (a, b) = upstream(batch.targets.len(), true);
    model.backward(batch, &TokenScores::from_host(a, b, &Device::flex())).unwrap()
}

#[test]
fn activations_kept_or_computed_again_give_the_same_gradients() {
    let batch = batch(many_rows());
    for tied in [true, false] {
        let kept = model(tied).with_kept_activations(usize::MAX);
        let again = kept.clone().with_kept_activations(0);
        let (of_kept, of_again) = (gradients(&kept, &batch), gradients(&again, &batch));
        assert_eq!(difference(&kept, &of_kept, &of_again), 0.0);
    }
}

#[test]
fn gradients_do_not_depend_on_the_number_of_threads() {
    let (model, batch) = (model(true), batch(many_rows()));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (scores(&model, &batch), gradients(&model, &batch)))
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.0, three.0);
    assert_eq!(difference(&model, &one.1, &three.1), 0.0);
}

#[test]
fn gradients_of_many_rows_are_the_sum_of_those_of_each() {
    let model = model(true);
    let rows = many_rows();
    let all = batch(rows.clone());
    assert!(all.tokens() > 2048, "{}", all.tokens());
    let (a, b) = upstream(all.targets.len(), true);
    let mut sum = GradientsAccumulator::new();
    let mut start = 0;
    for row in rows {
        let one = batch(vec![row]);
        let span = start..start + one.targets.len();
        start = span.end;
        let given =
            TokenScores::from_host(a[span.clone()].to_vec(), b[span].to_vec(), &Device::flex());
        sum.accumulate(&model, model.backward(&one, &given).unwrap());
    }
    let worst = difference(&model, &gradients(&model, &all), &sum.grads());
    assert!(worst < 1e-4, "{worst}");
}
