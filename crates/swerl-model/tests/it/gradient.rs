//! Gradients against finite differences along their own direction, for every kind of parameter.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
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
    struct Same<'a>(&'a GradientsParams, &'a GradientsParams);
    impl ModuleVisitor for Same<'_> {
        fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
            let (x, y) = (self.0.get::<D>(p.id).unwrap(), self.1.get::<D>(p.id).unwrap());
            assert_eq!((x - y).abs().max().into_scalar::<f32>(), 0.0);
        }
    }
    model.visit(&mut Same(&one, &two));
}
