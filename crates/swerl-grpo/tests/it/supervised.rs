//! The supervised term of GRPO's updates.

use swerl_grpo::{Group, RolloutError, RolloutSource, Sequence, TrainConfig, TrainError};

use crate::support::{Repeats, TinyPolicy, config, mean_reward};
use crate::train::run;

/// `Repeats` with answers that repeat the prompt's last token.
struct Taught(Repeats);

impl RolloutSource<TinyPolicy> for Taught {
    fn collect(&mut self, step: u64, policy: &TinyPolicy) -> Result<Vec<Group>, RolloutError> {
        self.0.collect(step, policy)
    }

    fn supervised(&mut self, step: u64) -> Result<Vec<Sequence>, RolloutError> {
        let answer = |last: u32| Sequence::supervised(&[0, last], &[last, last]);
        Ok(vec![answer(step as u32 % 11), answer((step as u32 + 5) % 11)])
    }
}

#[test]
fn a_source_without_answers_is_refused() {
    let weighted = TrainConfig { supervised_weight: 1.0, ..config(1) };
    let error = run(&mut Repeats::new(3), &weighted).unwrap_err();
    assert!(matches!(error, TrainError::Empty { step: 0 }), "{error}");
}

#[test]
fn it_is_learned_beside_the_rewards() {
    let (plain, steps) = run(&mut Taught(Repeats::new(3)), &config(40)).unwrap();
    assert!(steps.iter().all(|m| m.supervised_loss.is_none()), "not asked for at weight 0");
    let weighted = TrainConfig { supervised_weight: 1.0, ..config(40) };
    let (policy, steps) = run(&mut Taught(Repeats::new(3)), &weighted).unwrap();
    let loss = |at: usize| steps[at].supervised_loss.unwrap();
    assert!(loss(39) < loss(0) / 2.0, "{} to {}", loss(0), loss(39));
    assert!(mean_reward(&policy) > mean_reward(&plain), "the answers show what is rewarded");
}

/// The gradient is linear in the weight: what the term adds at weight 2 is twice what it adds at 1.
#[test]
fn its_gradient_is_that_of_the_mean_log_likelihood_of_an_answer() {
    let moved = |weight: f64| {
        let mut config = TrainConfig { supervised_weight: weight, ..config(1) };
        // So that the update is linear in the gradient: eps dwarfs the second moment.
        config.optimizer.eps = 1e6;
        config.optimizer.max_grad_norm = None;
        config.schedule.peak = 1e6;
        run(&mut Taught(Repeats::new(3)), &config).unwrap().0.weights()
    };
    let (none, once, twice) = (moved(0.0), moved(1.0), moved(2.0));
    let mut largest = 0.0_f32;
    for ((none, once), twice) in none.iter().zip(&once).zip(&twice) {
        assert!((twice - none - 2.0 * (once - none)).abs() < 1e-5, "{none} {once} {twice}");
        largest = largest.max((once - none).abs());
    }
    assert!(largest > 1e-2, "{largest}");
    // Of the head's bias, by hand: d/db of the mean over two answers of the sum of log p.
    let bias = once.len() - 11;
    let total: f32 = (bias..once.len()).map(|i| once[i] - none[i]).sum();
    assert!(total.abs() < 1e-5, "softmax gradients sum to zero: {total}");
}
