//! Low-rank updates: nothing changes at first, only they are trained, and PEFT's folders.

use std::fs;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use swerl_grpo::batch::Row;
use swerl_grpo::policy::{Policy, TokenScores};
use swerl_grpo::{OptimizerRule, TokenBatch};
use swerl_model::{CausalLm, LoraConfig, LoraTarget, StoredDtype};

use crate::tiny::{batch, close, model, scores, tokens};

fn config() -> LoraConfig {
    LoraConfig {
        rank: 3,
        alpha: 6.0,
        targets: vec![LoraTarget::QProj, LoraTarget::VProj, LoraTarget::DownProj],
    }
}

fn probe() -> TokenBatch {
    batch(vec![Row::plain(tokens(21, 1)), Row::plain(tokens(9, 2))])
}

fn gradients(model: &CausalLm) -> GradientsParams {
    let batch = probe();
    let n = batch.targets.len();
    let upstream = TokenScores::from_host(vec![-1.0 / n as f32; n], vec![0.0; n], &Device::flex());
    model.backward(&batch, &upstream).unwrap()
}

/// After `steps` steps of AdamW.
fn trained(mut model: CausalLm, steps: usize) -> CausalLm {
    let mut optimizer = OptimizerRule::default().build(&model);
    for _ in 0..steps {
        let gradients = gradients(&model);
        model = optimizer.step(0.01, model, gradients);
    }
    model
}

fn updated() -> CausalLm {
    Device::flex().seed(5);
    trained(model(true).with_lora(&config()), 3)
}

#[test]
fn a_new_update_changes_nothing() {
    for tied in [true, false] {
        let base = model(tied);
        let adapted = base.clone().with_lora(&config());
        assert!(adapted.has_lora() && !base.has_lora());
        assert_eq!(scores(&base, &probe()), scores(&adapted, &probe()));
    }
}

#[test]
fn only_updates_have_gradients_and_change() {
    struct Count<'a>(&'a GradientsParams, usize, usize);
    impl ModuleVisitor for Count<'_> {
        fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
            self.1 += 1;
            self.2 += usize::from(self.0.get::<D>(p.id).is_some());
        }
    }
    for tied in [true, false] {
        let base = model(tied);
        let adapted = base.clone().with_lora(&config());
        let gradients = gradients(&adapted);
        let mut count = Count(&gradients, 0, 0);
        adapted.visit(&mut count);
        // Two blocks of nine parameters, embedding, norm and head; two more for each of six updates.
        assert_eq!((count.1, count.2), (2 * 9 + 2 + usize::from(!tied) + 12, 12));
        let after = trained(adapted, 3);
        let (before, now) = (scores(&base, &probe()).0, scores(&after, &probe()).0);
        let mean = |all: &[f32]| all.iter().sum::<f32>() / all.len() as f32;
        assert!(mean(&now) > mean(&before) + 0.05, "{} {}", mean(&before), mean(&now));
        assert_eq!(scores(&after.without_lora(), &probe()).0, before, "the reference stays");
    }
}

#[test]
fn gradients_are_the_slope_of_the_merged_weights() {
    // dL/dA and dL/dB follow from dL/dW; here by the change of the loss along the gradient.
    let model = updated();
    let loss = |model: &CausalLm| {
        let log_probs = scores(model, &probe()).0;
        -log_probs.iter().map(|&lp| f64::from(lp)).sum::<f64>() / log_probs.len() as f64
    };
    struct Along<'a>(&'a GradientsParams, f64);
    impl burn::module::ModuleMapper for Along<'_> {
        fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(gradient) = self.0.get::<D>(p.id) else { return p };
            let by = self.1;
            p.map(|t| (t.inner() + gradient * by).autodiff().require_grad())
        }
    }
    struct Square<'a>(&'a GradientsParams, f64);
    impl ModuleVisitor for Square<'_> {
        fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
            if let Some(gradient) = self.0.get::<D>(p.id) {
                self.1 += f64::from(gradient.square().sum().into_scalar::<f32>());
            }
        }
    }
    let gradients = gradients(&model);
    let mut square = Square(&gradients, 0.0);
    model.visit(&mut square);
    let (length, h) = (square.1.sqrt(), 5e-3);
    let at = |by: f64| loss(&model.clone().map(&mut Along(&gradients, by / length)));
    let slope = (at(h) - at(-h)) / (2.0 * h);
    assert!((slope / length - 1.0).abs() < 5e-3, "{slope} {length}");
}

#[test]
fn merged_weights_compute_the_same() {
    let model = updated();
    let merged = model.merged();
    assert!(!merged.has_lora());
    close(&scores(&model, &probe()).0, &scores(&merged, &probe()).0, 2e-5);
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("m");
    model.save_folder(&folder, StoredDtype::F32, None).unwrap();
    let read = CausalLm::from_folder(&folder, &Device::flex()).unwrap();
    close(&scores(&model, &probe()).0, &scores(&read, &probe()).0, 2e-5);
}

#[test]
fn a_folder_gives_the_same_updates_back() {
    let model = updated();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("adapter");
    model.save_lora(&folder, Some("base")).unwrap();
    let read = model.without_lora().load_lora(&folder).unwrap();
    assert_eq!(scores(&model, &probe()), scores(&read, &probe()));
    assert!(model.without_lora().save_lora(&dir.path().join("none"), None).is_err());

    let path = folder.join("adapter_config.json");
    let text = fs::read_to_string(&path).unwrap();
    let refused = |from: &str, to: &str, named: &str| {
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let error = model.without_lora().load_lora(&folder).unwrap_err().to_string();
        assert!(error.contains(named), "{error} lacks {named}");
    };
    refused("\"LORA\"", "\"IA3\"", "IA3");
    refused("\"use_dora\": false", "\"use_dora\": true", "use_dora");
    refused("\"r\": 3", "\"r\": 0", "rank is 0");
    refused("\"r\": 3", "\"r\": 2", "[3, 24], expected [2, 24]");
    refused("\"down_proj\"", "\"up_proj\"", "up_proj.lora_A.weight is missing");
    refused("\"down_proj\"", "\"experts\"", "experts");
    refused("\"peft_type\"", "\"rank_pattern\": {\"x\": 1}, \"peft_type\"", "rank_pattern");
}

/// `tests/golden/make_lora.py`.
#[test]
fn a_folder_of_pefts_computes_what_peft_computes() {
    #[derive(serde::Deserialize)]
    struct Rows {
        rows: Vec<Vec<u32>>,
    }
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = |name: &str| fs::read_to_string(golden.join(name)).unwrap();
    let rows: Rows = serde_json::from_str(&text("llama31/expected.json")).unwrap();
    let expected: Vec<Vec<f32>> = serde_json::from_str(&text("lora/expected.json")).unwrap();
    let base = CausalLm::from_folder(&golden.join("llama31"), &Device::flex()).unwrap();
    let adapted = base.load_lora(&golden.join("lora")).unwrap();
    let batch = batch(rows.rows.into_iter().map(Row::plain).collect());
    close(&scores(&adapted, &batch).0, &expected.concat(), 1e-4);
    close(&scores(&adapted.merged(), &batch).0, &expected.concat(), 1e-4);
}
