//! Which prompts and samples are decoded together.
//!
//! Prompts are sorted by falling length and taken while rows and cached tokens keep the limits; a
//! prompt whose samples pass them alone gets several rounds of samples from one prefill.

use std::ops::Range;

use super::LocalLimits;
use crate::sampler::SampleRequest;

/// Prompts computed together, and the samples of theirs that are decoded together.
#[derive(Debug)]
pub(super) struct Round {
    /// Indices into the request's prompts, longest first.
    pub(super) prompts: Vec<usize>,
    /// Samples of each of them that are decoded at once.
    pub(super) samples: Vec<Range<usize>>,
}

/// Cuts a request into rounds that keep the limits.
pub(super) fn rounds(request: &SampleRequest<'_>, limits: LocalLimits) -> Vec<Round> {
    let (samples, new) = (request.samples_per_prompt, request.params.max_new_tokens);
    let len = |prompt: usize| request.prompts[prompt].ids.len();
    let mut order: Vec<usize> = (0..request.prompts.len()).collect();
    order.sort_by_key(|&prompt| std::cmp::Reverse(len(prompt)));
    let mut rounds = Vec::new();
    let mut rest = order.as_slice();
    while let [longest, ..] = *rest {
        // Each prompt counts as long as the longest, the first.
        let per_prompt = len(longest).saturating_add(samples.saturating_mul(new)).max(1);
        let fitting = (limits.max_rows / samples.max(1)).min(limits.max_tokens / per_prompt);
        let (batch, others) = rest.split_at(fitting.clamp(1, rest.len()));
        let own = limits.max_tokens.saturating_sub(len(longest)) / new.max(1);
        let at_once = if fitting == 0 { limits.max_rows.min(own).max(1) } else { samples.max(1) };
        rounds.push(Round {
            prompts: batch.to_vec(),
            samples: (0..samples)
                .step_by(at_once)
                .map(|first| first..samples.min(first + at_once))
                .collect(),
        });
        rest = others;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Stream;
    use crate::prompt::Prompt;
    use crate::sampling::SamplingParams;

    fn prompt(len: usize) -> Prompt {
        Prompt {
            id: format!("p{len}"),
            text: String::new(),
            ids: vec![1; len],
            messages: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            over_budget: false,
        }
    }

    #[track_caller]
    fn check(
        lens: &[usize],
        samples: usize,
        limits: (usize, usize),
        expected: &[(&[usize], &[usize])],
    ) {
        let prompts: Vec<Prompt> = lens.iter().map(|&len| prompt(len)).collect();
        let params = SamplingParams::plain(10, &[]);
        let request = SampleRequest {
            prompts: &prompts,
            samples_per_prompt: samples,
            params: &params,
            stream: Stream::Tokens,
            seed: 0,
            step: 0,
            first_prompt: 0,
            first_sample: 0,
            weights_version: 0,
        };
        let limits = LocalLimits { max_rows: limits.0, max_tokens: limits.1 };
        let rounds = rounds(&request, limits);
        assert_eq!(rounds.len(), expected.len());
        for (round, (prompts, ends)) in rounds.iter().zip(expected) {
            assert_eq!(round.prompts, *prompts);
            let starts = std::iter::once(&0).chain(*ends);
            let ranges: Vec<Range<usize>> = starts.zip(*ends).map(|(&a, &b)| a..b).collect();
            assert_eq!(round.samples, ranges);
        }
    }

    #[test]
    fn rounds_keep_the_limits_and_put_like_lengths_together() {
        check(&[], 4, (8, 1000), &[]);
        check(&[5, 9, 5, 8], 4, (8, 1000), &[(&[1, 3], &[4]), (&[0, 2], &[4])]);
        // 9 + 4 * 10 tokens for the longest; two prompts of 5 take 90.
        check(&[5, 9, 5], 4, (100, 97), &[(&[1], &[4]), (&[0, 2], &[4])]);
        // Too many samples for one round: several from one prefill.
        check(&[5], 5, (2, 1000), &[(&[0], &[2, 4, 5])]);
        check(&[5, 6], 3, (100, 26), &[(&[1], &[2, 3]), (&[0], &[2, 3])]);
        // Nothing fits: one sample at a time.
        check(&[50], 2, (8, 20), &[(&[0], &[1, 2])]);
    }
}
