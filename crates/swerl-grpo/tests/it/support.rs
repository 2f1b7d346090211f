//! A policy small enough to test with, a sampler for it, and configurations.
//!
//! The policy sees exactly what `Row::sees` allows, by definition: the hidden state of a token is
//! the mean embedding of what it sees, plus its own, plus its position's.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData, activation};
use swerl_grpo::{
    Finish, Group, Objective, OptimizerRule, Policy, PolicyError, Preset, RolloutError,
    RolloutSource, Row, SamplerCheck, Schedule, Sequence, TokenBatch, TokenScores, TrainConfig,
};

pub(crate) const VOCABULARY: usize = 11;
const WIDTH: usize = 8;
const POSITIONS: usize = 32;

/// A number in 0..1 from counters; not the crate's own generator.
pub(crate) fn noise(counters: &[u64]) -> f64 {
    let mut state = 0x1234_5678_9abc_def1_u64;
    for &counter in counters {
        state = (state ^ counter).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
        state = state.wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

#[derive(Module, Debug)]
pub(crate) struct TinyPolicy {
    pub(crate) embed: Param<Tensor<2>>,
    position: Param<Tensor<2>>,
    pub(crate) head: Param<Tensor<2>>,
    pub(crate) bias: Param<Tensor<1>>,
}

impl TinyPolicy {
    pub(crate) fn new(seed: u64) -> Self {
        let device = Device::flex().autodiff();
        let values = |part: u64, len: usize| -> Vec<f32> {
            (0..len as u64).map(|i| (noise(&[seed, part, i]) as f32 - 0.5) * 0.6).collect()
        };
        let matrix = |part, rows: usize, columns: usize| {
            let data = TensorData::new(values(part, rows * columns), [rows, columns]);
            Param::<Tensor<2>>::from_data(data, &device)
        };
        Self {
            embed: matrix(0, VOCABULARY, WIDTH),
            position: matrix(1, POSITIONS, WIDTH),
            head: matrix(2, WIDTH, VOCABULARY),
            bias: Param::<Tensor<1>>::from_data(
                TensorData::new(values(3, VOCABULARY), [VOCABULARY]),
                &device,
            ),
        }
    }

    fn hidden(&self, row: &Row) -> Tensor<2> {
        let device = self.embed.val().device();
        let len = row.tokens.len();
        let indices = |values: &[u32]| {
            let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            Tensor::<1, Int>::from_data(TensorData::new(values, [len]), &device)
        };
        let mut sight = vec![0.0_f32; len * len];
        for query in 0..len {
            let seen: Vec<usize> = (0..len).filter(|&key| row.sees(query, key)).collect();
            for &key in &seen {
                sight[query * len + key] = 1.0 / seen.len() as f32;
            }
        }
        let sight = Tensor::<2>::from_data(TensorData::new(sight, [len, len]), &device);
        let tokens = self.embed.val().select(0, indices(&row.tokens));
        let positions = self.position.val().select(0, indices(&row.positions));
        (sight.matmul(tokens.clone()) + tokens + positions).tanh()
    }

    fn log_softmax(&self, hidden: Tensor<2>, temperature: f32) -> Tensor<2> {
        let logits = hidden.matmul(self.head.val()) + self.bias.val().unsqueeze::<2>();
        activation::log_softmax(logits.div_scalar(temperature), 1)
    }

    fn forward(&self, batch: &TokenBatch) -> TokenScores {
        let device = self.embed.val().device();
        let count = batch.targets.len();
        let mut starts = Vec::new();
        let mut next = 0;
        let mut rows = Vec::new();
        for row in &batch.rows {
            starts.push(next);
            next += row.tokens.len();
            rows.push(self.hidden(row));
        }
        let indices = |values: Vec<i32>| {
            Tensor::<1, Int>::from_data(TensorData::new(values, [count]), &device)
        };
        let states = batch.targets.iter();
        let states =
            indices(states.map(|t| (starts[t.row as usize] + t.index as usize) as i32).collect());
        let tokens = indices(batch.targets.iter().map(|t| t.token as i32).collect());
        let hidden = Tensor::cat(rows, 0).select(0, states);
        let all = self.log_softmax(hidden, batch.temperature);
        let log_prob = all.clone().gather(1, tokens.reshape([count, 1]));
        let entropy = (all.clone().exp() * all).sum_dim(1).neg();
        TokenScores { log_prob: log_prob.reshape([count]), entropy: entropy.reshape([count]) }
    }

    /// Probabilities of the token after `tokens`.
    fn next(&self, tokens: &[u32], temperature: f32) -> Vec<f32> {
        let row = Row::plain(tokens.to_vec());
        let last = self.hidden(&row).narrow(0, tokens.len() - 1, 1);
        self.log_softmax(last, temperature).exp().into_data().try_into_vec().unwrap()
    }

    /// All weights, in a fixed order.
    pub(crate) fn weights(&self) -> Vec<f32> {
        let mut all = Vec::new();
        for matrix in [&self.embed, &self.position, &self.head] {
            all.extend(matrix.val().into_data().try_into_vec::<f32>().unwrap());
        }
        all.extend(self.bias.val().into_data().try_into_vec::<f32>().unwrap());
        all
    }
}

impl Policy for TinyPolicy {
    fn score(&self, batch: &TokenBatch) -> Result<TokenScores, PolicyError> {
        batch.validate()?;
        Ok(self.valid().forward(batch))
    }

    fn backward(
        &self,
        batch: &TokenBatch,
        upstream: &TokenScores,
    ) -> Result<GradientsParams, PolicyError> {
        let scores = self.forward(batch);
        let log_prob = scores.log_prob * upstream.log_prob.clone();
        let sum = (log_prob + scores.entropy * upstream.entropy.clone()).sum();
        Ok(GradientsParams::from_grads(sum.backward(), self))
    }
}

/// Samples completions of two-token prompts; rewards those that repeat the prompt's last token.
#[derive(Debug, Clone)]
pub(crate) struct Repeats {
    pub(crate) seed: u64,
    pub(crate) prompts: u64,
    pub(crate) samples: u64,
    pub(crate) length: usize,
    pub(crate) temperature: f32,
}

impl Repeats {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, prompts: 3, samples: 5, length: 4, temperature: 1.0 }
    }

    pub(crate) fn sample(&self, policy: &TinyPolicy, version: u64, counters: [u64; 3]) -> Sequence {
        let policy = policy.valid();
        let [step, prompt, sample] = counters;
        let draw = |place: u64| noise(&[self.seed, step, prompt, sample, place]);
        let last = (noise(&[self.seed, step, prompt]) * VOCABULARY as f64) as u32;
        let mut sequence = Sequence {
            tokens: vec![prompt as u32, last],
            policy_mask: vec![false; 2],
            behaviour_log_probs: vec![0.0; 2],
            weights_version: version,
            finish: Finish::Length,
        };
        // Lengths differ, so that aggregations do.
        let length = self.length - (draw(99) * 2.0) as usize;
        for place in 0..length {
            let probabilities = policy.next(&sequence.tokens, self.temperature);
            let mut left = draw(place as u64) as f32;
            let mut token = 0;
            while token + 1 < VOCABULARY && left >= probabilities[token] {
                left -= probabilities[token];
                token += 1;
            }
            sequence.tokens.push(token as u32);
            sequence.policy_mask.push(true);
            sequence.behaviour_log_probs.push(probabilities[token].ln());
        }
        sequence
    }
}

impl RolloutSource<TinyPolicy> for Repeats {
    fn collect(&mut self, step: u64, policy: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
        let group = |prompt| {
            let sequences: Vec<Sequence> = (0..self.samples)
                .map(|sample| self.sample(policy, step, [step, prompt, sample]))
                .collect();
            let reward = |sequence: &Sequence| {
                let made = &sequence.tokens[2..];
                let hits = made.iter().filter(|&&token| token == sequence.tokens[1]);
                Some(hits.count() as f64 / made.len() as f64)
            };
            Group {
                prompt_len: 2,
                rewards: sequences.iter().map(reward).collect(),
                sequences,
                id: format!("prompt {prompt}"),
            }
        };
        Ok((0..self.prompts).map(group).collect())
    }
}

/// Mean reward of the policy over fresh samples.
pub(crate) fn mean_reward(policy: &TinyPolicy) -> f64 {
    let mut source = Repeats { prompts: 8, samples: 8, ..Repeats::new(777) };
    let groups = source.collect(0, policy).unwrap();
    let rewards: Vec<f64> =
        groups.iter().flat_map(|g| g.rewards.iter().copied().flatten()).collect();
    rewards.iter().sum::<f64>() / rewards.len() as f64
}

/// Token-level GRPO without KL.
pub(crate) fn objective() -> Objective {
    Preset::Trl.objective()
}

pub(crate) fn config(steps: u64) -> TrainConfig {
    TrainConfig {
        steps,
        objective: objective(),
        supervised_weight: 0.0,
        epochs: 1,
        minibatches: 1,
        optimizer: OptimizerRule::default(),
        schedule: Schedule::constant(0.05),
        temperature: 1.0,
        micro_batch_tokens: 1000,
        sampler_check: Some(SamplerCheck { mean: 1e-5, max: 1e-4 }),
        checkpoint: None,
        identity: BTreeMap::new(),
    }
}

/// Gradients of all parameters, in the order of `TinyPolicy::weights`.
pub(crate) fn flat(policy: &TinyPolicy, gradients: &GradientsParams) -> Vec<f32> {
    let mut all = Vec::new();
    for matrix in [&policy.embed, &policy.position, &policy.head] {
        let gradient = gradients.get::<2>(matrix.id).unwrap();
        all.extend(gradient.into_data().try_into_vec::<f32>().unwrap());
    }
    let gradient = gradients.get::<1>(policy.bias.id).unwrap();
    all.extend(gradient.into_data().try_into_vec::<f32>().unwrap());
    all
}

#[track_caller]
pub(crate) fn assert_close(a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len());
    for (index, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{index}: {a} is not {b}");
    }
}
