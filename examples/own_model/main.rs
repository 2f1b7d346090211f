//! GRPO on a Burn module of one's own, by `burn` and `swerl-grpo` alone: digits learn to count up.

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, activation::log_softmax};
use swerl_grpo::{
    Finish, Group, Policy, PolicyError, Preset, Resume, RolloutError, RolloutSource, Schedule,
    Sequence, TokenBatch, TokenScores, TrainConfig, TrainError, train,
};

const DIGITS: usize = 10;
type Gradients = Result<GradientsParams, PolicyError>;

#[derive(Module, Debug)]
struct Counter {
    logits: Param<Tensor<2>>,
}

impl Counter {
    fn scores(&self, batch: &TokenBatch) -> TokenScores {
        let (rows, targets) = (&batch.rows, &batch.targets);
        let seen = targets.iter().map(|t| rows[t.row as usize].tokens[t.index as usize] as i32);
        let wanted = targets.iter().map(|t| t.token as i32);
        let ints = |all: Vec<i32>| Tensor::<1, Int>::from_data(&all[..], &self.logits.device());
        let logits = self.logits.val().select(0, ints(seen.collect()));
        let all = log_softmax(logits.div_scalar(batch.temperature), 1);
        let log_prob = all.clone().gather(1, ints(wanted.collect()).unsqueeze_dim(1));
        let entropy = (all.clone().exp() * all).sum_dim(1).neg();
        TokenScores { log_prob: log_prob.squeeze_dim(1), entropy: entropy.squeeze_dim(1) }
    }
}

impl Policy for Counter {
    fn score(&self, batch: &TokenBatch) -> Result<TokenScores, PolicyError> {
        Ok(self.valid().scores(batch))
    }
    fn backward(&self, batch: &TokenBatch, upstream: &TokenScores) -> Gradients {
        let TokenScores { log_prob, entropy } = self.scores(batch);
        let sum = log_prob * upstream.log_prob.clone() + entropy * upstream.entropy.clone();
        Ok(GradientsParams::from_grads(sum.sum().backward(), self))
    }
}

/// A number in 0..1 that depends on nothing but its counters, so that runs can be repeated.
fn noise(counters: [u64; 4]) -> f32 {
    let mix = |x: u64| (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = counters.iter().fold(7, |h: u64, c| mix(mix(h.wrapping_add(*c).wrapping_add(1))));
    (hash >> 40) as f32 / (1_u64 << 24) as f32
}

/// Samples four digits after a first one; the reward is the share that counts on. Keeps its means.
struct Counting(Vec<f64>);
impl RolloutSource<Counter> for Counting {
    fn collect(&mut self, step: u64, policy: &Counter) -> Result<Vec<Group>, RolloutError> {
        let table = log_softmax(policy.valid().logits.val(), 1).into_data();
        let table = table.try_into_vec().map_err(RolloutError::new)?;
        let groups: Vec<Group> = (0..4).map(|prompt| group(&table, step, prompt)).collect();
        let rewards = groups.iter().flat_map(|group| &group.rewards).flatten();
        self.0.push(rewards.sum::<f64>() / 32.0);
        Ok(groups)
    }
}

fn group(table: &[f32], step: u64, prompt: u64) -> Group {
    let first = noise([step, prompt, 0, 9]) * DIGITS as f32;
    let sequences: Vec<Sequence> = (0..8)
        .map(|sample| {
            let (mut tokens, mut log_probs) = (vec![first as u32], vec![0.0]);
            for place in 0..4 {
                let row = &table[tokens[place] as usize * DIGITS..][..DIGITS];
                let mut left = noise([step, prompt, sample, place as u64]);
                let here = |lp: &f32| {
                    left -= lp.exp();
                    left < 0.0
                };
                let token = row.iter().position(here).unwrap_or(DIGITS - 1);
                tokens.push(token as u32);
                log_probs.push(row[token]);
            }
            let mut sequence = Sequence::supervised(&tokens[..1], &tokens[1..]);
            sequence.behaviour_log_probs = log_probs;
            Sequence { weights_version: step, finish: Finish::Length, ..sequence }
        })
        .collect();
    let counts_on = |pair: &&[u32]| pair[1] == (pair[0] + 1) % DIGITS as u32;
    let right = |s: &Sequence| s.tokens.windows(2).filter(counts_on).count() as f64 / 4.0;
    let rewards = sequences.iter().map(|sequence| Some(right(sequence))).collect();
    Group { prompt_len: 1, sequences, rewards, id: format!("{step}/{prompt}") }
}

/// The mean reward of each step.
fn run(steps: u64) -> Result<Vec<f64>, TrainError> {
    let config = TrainConfig::new(steps, Preset::Trl.objective(), Schedule::constant(0.05));
    let logits = Tensor::zeros([DIGITS, DIGITS], &Device::flex().autodiff());
    let policy = Counter { logits: Param::from_tensor(logits) };
    let mut source = Counting(Vec::new());
    train(policy, None, &mut source, &mut swerl_grpo::Silent, &config, &Resume::Fresh)?;
    Ok(source.0)
}

fn main() -> Result<(), TrainError> {
    run(150).map(|rewards| println!("mean reward of each step: {rewards:.2?}"))
}

#[test]
fn it_learns_to_count() {
    let rewards = run(150).expect("the run ends");
    assert!(rewards[0] < 0.3 && rewards[149] > 0.9, "{} to {}", rewards[0], rewards[149]);
}
