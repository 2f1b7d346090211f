//! Tiny Llama-3.1 and Qwen2 folders against what transformers made of them
//! (`tests/golden/make_tiny.py`).

use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use serde::Deserialize;
use swerl_grpo::batch::Row;
use swerl_grpo::policy::{Policy, TokenScores};
use swerl_model::{CausalLm, StoredDtype};

use crate::tiny::{batch, close, scores};

const MODELS: [&str; 2] = ["llama31", "qwen2"];

#[derive(Deserialize)]
struct Expected {
    rows: Vec<Vec<u32>>,
    log_probs: Vec<Vec<f32>>,
    entropies: Vec<Vec<f32>>,
    top: Vec<(usize, f32)>,
    greedy: Vec<u32>,
    gradient_norms: Vec<(String, f64)>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn load(name: &str) -> (CausalLm, Expected) {
    let model = CausalLm::from_folder(&folder(name), &Device::flex().autodiff()).unwrap();
    let text = std::fs::read_to_string(folder(name).join("expected.json")).unwrap();
    (model, serde_json::from_str(&text).unwrap())
}

fn rows(expected: &Expected) -> Vec<Row> {
    expected.rows.iter().map(|tokens| Row::plain(tokens.clone())).collect()
}

fn logits(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

#[test]
fn log_probs_and_entropies() {
    for name in MODELS {
        let (model, expected) = load(name);
        let (log_probs, entropies) = scores(&model, &batch(rows(&expected)));
        close(&log_probs, &expected.log_probs.concat(), 1e-4);
        close(&entropies, &expected.entropies.concat(), 1e-4);
    }
}

#[test]
fn highest_logits_and_greedy_tokens() {
    for name in MODELS {
        let (model, expected) = load(name);
        let model = model.valid();
        let all = logits(model.prefill(&expected.rows[..1]).1);
        for (id, logit) in &expected.top {
            assert!((all[*id] - logit).abs() < 1e-4, "{name}, {id}: {} {logit}", all[*id]);
        }
        let (cache, mut next) = model.prefill(&expected.rows[1..2]);
        let mut decode = cache.fork(1, 32);
        let mut greedy = Vec::new();
        for _ in 0..32 {
            let all = logits(next);
            let best = (0..all.len()).max_by(|&a, &b| all[a].total_cmp(&all[b])).unwrap();
            greedy.push(best as u32);
            next = model.step(&mut decode, &[best as u32]);
        }
        assert_eq!(greedy, expected.greedy, "{name}");
    }
}

#[test]
fn gradient_norms() {
    struct Norms<'a>(&'a GradientsParams, Vec<f64>);
    impl ModuleVisitor for Norms<'_> {
        fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(p.id).expect("every parameter has a gradient");
            self.1.push(f64::from(gradient.square().sum().into_scalar::<f32>()).sqrt());
        }
    }
    for name in MODELS {
        let (model, expected) = load(name);
        let batch = batch(rows(&expected));
        let n = batch.targets.len();
        let upstream =
            TokenScores::from_host(vec![-1.0 / n as f32; n], vec![0.0; n], &Device::flex());
        let gradients = model.backward(&batch, &upstream).unwrap();
        let mut norms = Norms(&gradients, Vec::new());
        model.visit(&mut norms);
        assert_eq!(norms.1.len(), expected.gradient_norms.len(), "{name}");
        for (found, (parameter, norm)) in norms.1.iter().zip(&expected.gradient_norms) {
            let difference = (found - norm).abs();
            assert!(difference < 1e-3 * norm + 1e-6, "{name}, {parameter}: {found} {norm}");
        }
    }
}

#[test]
fn a_written_folder_is_the_same_model() {
    for name in MODELS {
        let (model, _) = load(name);
        let dir = tempfile::tempdir().unwrap();
        let written = dir.path().join(name);
        model.save_folder(&written, StoredDtype::Bf16, None).unwrap();
        let again = CausalLm::from_folder(&written, &Device::flex()).unwrap();
        assert_eq!(again.config(), model.config());
        let probe = batch(vec![Row::plain((0..40).collect())]);
        assert_eq!(scores(&model, &probe).0, scores(&again, &probe).0, "{name}");
    }
}
