//! Scoring many outputs in parallel.

use rayon::prelude::*;

use crate::score::Score;
use crate::search_replace::{Scorer, Target};
use crate::similarity::Matcher;

/// One output and what it is scored against.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The prompt's files and oracle patches, shared by the outputs of a group.
    pub target: &'a Target<'a>,
    /// The model's output.
    pub output: &'a str,
}

impl Scorer {
    /// Scores in parallel on rayon's current pool; the scores are in the order of the jobs and
    /// do not depend on the number of threads. Scratch memory is reused along each thread's share.
    #[must_use]
    pub fn score_batch(&self, jobs: &[Job<'_>]) -> Vec<Score> {
        jobs.par_iter()
            .map_init(Matcher::new, |matcher, job| self.score(matcher, job.target, job.output))
            .collect()
    }
}
