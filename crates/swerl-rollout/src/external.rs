//! Rewards from another program: any function in any language, over lines of JSON.
//!
//! The program reads one request a line and answers each with one line, in order:
//!
//! ```text
//! {"version":1,"id":0,"prompt":"..","completions":["..",".."],"completion_ids":[[..],[..]],
//!  "columns":{"seed":"o/r#1","repo":"o/r","step":0,"context":{..},"oracle":{..}}}
//! {"id":0,"rewards":[1.0,null]}
//! ```
//!
//! A request holds the completions of one prompt; `context` and `oracle` map paths to whole texts. A
//! reward of `null` means "could not be judged": it is masked and counted. So is every completion of a
//! request that got no usable answer in time: the program is then killed, with what it started, and
//! started anew. A program that fails again and again without any answer is an error: a run whose
//! rewards are all missing would learn nothing and look healthy.
//!
//! Aborted completions are not sent. Rewards must be finite.

mod process;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swerl_data::SeedExample;
use swerl_grpo::Finish;

use crate::collect::ScoredGroup;
use process::{Broken, Program};

/// Version of the requests.
pub const REWARD_PROTOCOL_VERSION: u32 = 1;

/// The program and how long it is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardCommand {
    /// The program, looked for on the PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How many run at once, each judging one prompt at a time; at least 1.
    pub processes: usize,
    /// Longest time for the completions of one prompt, in seconds.
    pub timeout_s: f64,
    /// How often a request is sent before its completions stay unjudged; at least 1.
    pub attempts: u32,
    /// Failures in a row, over all processes, after which the run stops; at least 1.
    pub max_failures: usize,
}

impl RewardCommand {
    /// One process, 60 s a prompt, two attempts, at most 8 failures in a row.
    #[must_use]
    pub fn new(program: &str, arguments: &[&str]) -> Self {
        Self {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            processes: 1,
            timeout_s: 60.0,
            attempts: 2,
            max_failures: 8,
        }
    }

    fn validate(&self) -> Result<(), RewardError> {
        let refuse = |field, problem: String| Err(RewardError::Settings { field, problem });
        if self.program.is_empty() {
            return refuse("program", "it is empty".to_owned());
        }
        if self.processes == 0 || self.attempts == 0 || self.max_failures == 0 {
            return refuse(
                "processes, attempts, max_failures",
                "each must be at least 1".to_owned(),
            );
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= 1e7) {
            let value = self.timeout_s;
            return refuse("timeout_s", format!("it is {value}, it must be above 0, at most 1e7"));
        }
        Ok(())
    }
}

/// Why rewards could not be asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewardError {
    /// A setting out of range.
    #[error("reward command, {field}: {problem}")]
    Settings {
        /// The field of [`RewardCommand`].
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The program could not be started.
    #[error("the reward command {program} could not be started")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The program failed too often.
    #[error(
        "the reward command {program} failed {failures} times in a row, at last on {id}: {problem}; its last words: {stderr}"
    )]
    Failing {
        /// The program.
        program: String,
        /// Failures in a row.
        failures: usize,
        /// The prompt that it was to judge.
        id: String,
        /// What happened.
        problem: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
}

/// How often what happened, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewardCounts {
    /// Completions sent.
    pub asked: u64,
    /// Completions that the program could not judge.
    pub declined: u64,
    /// Completions without a usable answer.
    pub failed: u64,
    /// Requests that were not answered in time.
    pub timeouts: u64,
    /// Programs started after the first ones.
    pub restarts: u64,
}

/// Programs that judge completions. They are killed when this is dropped.
#[derive(Debug)]
pub struct ExternalReward {
    command: RewardCommand,
    programs: Vec<Option<Program>>,
    counts: RewardCounts,
}

#[derive(Serialize)]
struct Request<'a> {
    version: u32,
    id: usize,
    prompt: &'a str,
    completions: Vec<&'a str>,
    completion_ids: Vec<&'a [u32]>,
    columns: Columns<'a>,
}

#[derive(Serialize)]
struct Columns<'a> {
    seed: &'a str,
    repo: &'a str,
    step: u64,
    context: std::collections::BTreeMap<String, String>,
    oracle: &'a std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Answer {
    id: usize,
    rewards: Vec<Option<f64>>,
}

/// What all workers know.
struct Shared<'a> {
    command: &'a RewardCommand,
    /// Failures in a row.
    failures: AtomicUsize,
    counts: Mutex<RewardCounts>,
}

impl ExternalReward {
    /// Starts the programs.
    ///
    /// # Errors
    /// [`RewardError::Settings`], [`RewardError::Start`].
    pub fn start(command: RewardCommand) -> Result<Self, RewardError> {
        command.validate()?;
        let programs =
            (0..command.processes).map(|_| launch(&command).map(Some)).collect::<Result<_, _>>()?;
        Ok(Self { command, programs, counts: RewardCounts::default() })
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> RewardCounts {
        self.counts
    }

    /// The reward of each completion of `groups`, whose prompts are those of `seeds`; `None` where
    /// there is none.
    ///
    /// # Errors
    /// [`RewardError::Failing`] when the program does not work at all.
    ///
    /// # Panics
    /// If the lists differ in length.
    pub fn judge(
        &mut self,
        step: u64,
        seeds: &[&SeedExample],
        groups: &[ScoredGroup],
    ) -> Result<Vec<Vec<Option<f64>>>, RewardError> {
        assert_eq!(seeds.len(), groups.len(), "one seed per group");
        let shared = Shared {
            command: &self.command,
            failures: AtomicUsize::new(0),
            counts: Mutex::new(self.counts),
        };
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Vec<Option<f64>>>>> = Mutex::new(vec![None; groups.len()]);
        let mut failed = None;
        std::thread::scope(|scope| {
            let worker = |program: &mut Option<Program>| -> Result<(), RewardError> {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = groups.get(index) else { return Ok(()) };
                    match shared.group(program, step, index, seeds[index], group) {
                        Ok(rewards) => lock(&results)[index] = Some(rewards),
                        Err(error) => {
                            next.store(groups.len(), Ordering::Relaxed);
                            return Err(error);
                        }
                    }
                }
            };
            let workers: Vec<_> = self
                .programs
                .iter_mut()
                .map(|program| scope.spawn(move || worker(program)))
                .collect();
            for worker in workers {
                if let Err(error) = worker.join().expect("a worker does not panic") {
                    failed = Some(error);
                }
            }
        });
        self.counts = *lock(&shared.counts);
        match failed {
            Some(error) => Err(error),
            None => Ok(lock(&results).drain(..).map(Option::unwrap_or_default).collect()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn launch(command: &RewardCommand) -> Result<Program, RewardError> {
    Program::start(&command.program, &command.arguments)
        .map_err(|source| RewardError::Start { program: command.program.clone(), source })
}

impl Shared<'_> {
    fn group(
        &self,
        slot: &mut Option<Program>,
        step: u64,
        id: usize,
        seed: &SeedExample,
        group: &ScoredGroup,
    ) -> Result<Vec<Option<f64>>, RewardError> {
        let sent: Vec<usize> = (0..group.completions.len())
            .filter(|&index| group.completions[index].finish != Finish::Abort)
            .collect();
        let mut rewards = vec![None; group.completions.len()];
        if sent.is_empty() {
            return Ok(rewards);
        }
        let request = Request {
            version: REWARD_PROTOCOL_VERSION,
            id,
            prompt: &group.prompt.text,
            completions: sent.iter().map(|&i| group.completions[i].text.as_str()).collect(),
            completion_ids: sent.iter().map(|&i| group.completions[i].ids.as_slice()).collect(),
            columns: Columns {
                seed: &seed.id,
                repo: &seed.repo,
                step,
                context: seed.context(),
                oracle: &seed.oracle,
            },
        };
        let line = serde_json::to_string(&request).expect("maps with string keys are JSON");
        lock(&self.counts).asked += sent.len() as u64;
        for _ in 0..self.command.attempts {
            let program = match slot {
                Some(program) => program,
                None => {
                    lock(&self.counts).restarts += 1;
                    slot.insert(launch(self.command)?)
                }
            };
            let timeout = Duration::from_secs_f64(self.command.timeout_s);
            let answer =
                program.exchange(&line, timeout).and_then(|line| read(&line, id, sent.len()));
            match answer {
                Ok(answer) => {
                    self.failures.store(0, Ordering::Relaxed);
                    let declined = answer.iter().filter(|reward| reward.is_none()).count();
                    lock(&self.counts).declined += declined as u64;
                    for (index, reward) in sent.into_iter().zip(answer) {
                        rewards[index] = reward;
                    }
                    return Ok(rewards);
                }
                Err(broken) => {
                    let stderr = program.last_words();
                    *slot = None; // Kills it: what it says later would answer nothing.
                    lock(&self.counts).timeouts += u64::from(matches!(broken, Broken::Timeout));
                    let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                    if failures >= self.command.max_failures {
                        return Err(RewardError::Failing {
                            program: self.command.program.clone(),
                            failures,
                            id: seed.id.clone(),
                            problem: broken.to_string(),
                            stderr,
                        });
                    }
                }
            }
        }
        lock(&self.counts).failed += sent.len() as u64;
        Ok(rewards)
    }
}

/// The rewards of an answer to request `id` with `count` completions.
fn read(line: &str, id: usize, count: usize) -> Result<Vec<Option<f64>>, Broken> {
    let answer: Answer = serde_json::from_str(line)
        .map_err(|error| Broken::Answer(format!("its answer is not {{id, rewards}}: {error}")))?;
    if answer.id != id {
        return Err(Broken::Answer(format!("it answered {} to request {id}", answer.id)));
    }
    if answer.rewards.len() != count {
        let found = answer.rewards.len();
        return Err(Broken::Answer(format!("it gave {found} rewards for {count} completions")));
    }
    Ok(answer.rewards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_against_their_request() {
        assert_eq!(read("{\"id\":3,\"rewards\":[1,null]}", 3, 2), Ok(vec![Some(1.0), None]));
        for (line, named) in [
            ("{\"id\":4,\"rewards\":[1,null]}", "answered 4 to request 3"),
            ("{\"id\":3,\"rewards\":[1]}", "1 rewards for 2"),
            ("{\"id\":3,\"rewards\":[NaN,1]}", "not {id, rewards}"),
            ("{\"id\":3,\"rewards\":[1e999,1]}", "not {id, rewards}"),
            ("scored!", "not {id, rewards}"),
        ] {
            let error = read(line, 3, 2).expect_err("refused").to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let good = RewardCommand::new("python3", &["reward.py"]);
        assert!(good.validate().is_ok());
        for bad in [
            RewardCommand { program: String::new(), ..good.clone() },
            RewardCommand { processes: 0, ..good.clone() },
            RewardCommand { attempts: 0, ..good.clone() },
            RewardCommand { timeout_s: f64::NAN, ..good },
        ] {
            assert!(matches!(bad.validate(), Err(RewardError::Settings { .. })));
        }
    }
}
