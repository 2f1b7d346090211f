//! The paper's configuration: Llama-3.3-70B-Instruct, 16k context, 32 prompts x 16 samples, 1,600
//! steps. Printed with its memory plan; refused where it cannot fit.

use swerl_model::{Llama3Rope, MemoryPlan, ModelConfig, Precision, Workload};

/// Tokens of prompt and answer.
const CONTEXT: u64 = 16_384;

/// Whether the plan can run here.
pub(crate) enum Fit {
    /// It can.
    Fits,
    /// It cannot, and why.
    Refused(String),
}

/// Prints configuration and plan.
pub(crate) fn describe() -> Fit {
    let config = ModelConfig::llama_3_3_70b();
    println!("{}", configuration(&config));
    let workload =
        Workload { context: CONTEXT, decoded: 16, devices: 1, precision: Precision::MixedBf16 };
    let plan = MemoryPlan::new(&config, &workload);
    let total = plan.total();
    for part in &plan.parts {
        println!("  {:<48} {:>9.1} GB", part.what, gigabytes(part.bytes));
    }
    println!("  {:<48} {:>9.1} GB", "together", gigabytes(total));
    match machine_memory() {
        Some(here) if here >= total => Fit::Fits,
        Some(here) => Fit::Refused(format!(
            "the 70B recipe needs {:.0} GB and this machine has {:.0} GB; run the default preset here",
            gigabytes(total),
            gigabytes(here)
        )),
        None => Fit::Refused("cannot read this machine's memory to check the plan".to_owned()),
    }
}

fn configuration(config: &ModelConfig) -> String {
    format!(
        "Llama-3.3-70B-Instruct, {} parameters\n\
         [model]    layers {}  hidden {}  heads {} ({} key/value)  vocabulary {}  rope theta {} (llama3 x{})\n\
         [rollout]  context {CONTEXT}  prompts 32  samples 16  temperature 1.0\n\
         [grpo]     steps 1600  objective swe_rl (eq. 2): eps 0.2  beta 0.001 (k3)  std over the group, ddof 0\n\
         [optim]    AdamW  lr 1e-6  betas 0.9 0.95  one step per batch of 512  clip 1.0\n\
         learning rate, eps, beta, temperature and the estimator are not published: usual values\n\
         memory plan:",
        config.parameters(),
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.vocab_size,
        config.rope_theta,
        config.rope_scaling.as_ref().map_or(1.0, |r: &Llama3Rope| r.factor),
    )
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use swerl_grpo::{
        Finish, Group, OptimizerRule, Preset, Resume, RolloutError, RolloutSource, Schedule,
        Sequence, Silent, TrainConfig, train,
    };
    use swerl_model::CausalLm;

    /// A thousandth of the 70B's parameters in its shape: 80 blocks, 8 query heads to a key head,
    /// llama3 rope, untied head.
    fn thousandth() -> ModelConfig {
        ModelConfig {
            vocab_size: 2048,
            hidden_size: 256,
            intermediate_size: 912,
            num_attention_heads: 8,
            num_key_value_heads: 1,
            head_dim: 32,
            ..ModelConfig::llama_3_3_70b()
        }
    }

    struct Fixed;
    impl RolloutSource<CausalLm> for Fixed {
        fn collect(&mut self, _: u64, policy: &CausalLm) -> Result<Vec<Group>, RolloutError> {
            let prompt = [5u32, 6, 7, 8];
            let sequences = (0..2u32)
                .map(|i| Sequence {
                    weights_version: u64::MAX,
                    finish: Finish::Stop,
                    ..Sequence::supervised(&prompt, &[9 + i, 10 + i, 11])
                })
                .collect();
            assert_eq!(policy.config().num_hidden_layers, 80);
            Ok(vec![Group {
                prompt_len: 4,
                sequences,
                rewards: vec![Some(1.0), Some(-1.0)],
                id: "a".into(),
            }])
        }
    }

    #[test]
    fn a_thousandth_of_the_70b_builds_and_steps() {
        let config = thousandth();
        let ratio = ModelConfig::llama_3_3_70b().parameters() as f64 / config.parameters() as f64;
        assert!((950.0..1050.0).contains(&ratio), "{ratio}");
        let device = Device::flex();
        device.seed(1);
        let model = CausalLm::new(&config, &device.autodiff());
        let mut objective = Preset::SweRl.objective();
        objective.loss.kl = None;
        let train_config = TrainConfig {
            steps: 1,
            objective,
            supervised_weight: 0.0,
            epochs: 1,
            minibatches: 1,
            optimizer: OptimizerRule::default(),
            schedule: Schedule::constant(1e-3),
            temperature: 1.0,
            micro_batch_tokens: 64,
            sampler_check: None,
            checkpoint: None,
            identity: std::collections::BTreeMap::new(),
        };
        let batch = swerl_grpo::TokenBatch {
            rows: vec![swerl_grpo::Row::plain(vec![5, 6, 7, 8, 9, 10, 11])],
            targets: vec![swerl_grpo::Target { row: 0, index: 3, token: 9, sample: 0 }],
            temperature: 1.0,
            samples: 1,
        };
        let score = |model: &CausalLm| {
            let scores = swerl_grpo::Policy::score(model, &batch).expect("scores");
            scores.to_host().expect("readable").0[0]
        };
        let before = score(&model);
        let trained = train(model, None, &mut Fixed, &mut Silent, &train_config, &Resume::Fresh)
            .expect("one step");
        assert_eq!(trained.steps, 1);
        assert!(score(&trained.policy) > before, "the rewarded token became likelier");
    }
}
