//! Which prompts and samples start to be decoded when there is room.
//!
//! Prompts wait by falling length, so that a run that will not fit in memory fails at once. A
//! prompt whose samples pass the limits alone starts with as many as they allow.

use std::ops::Range;

use super::LocalLimits;
use crate::sampler::SampleRequest;

/// Prompts computed together, and the samples of each that start together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wave {
    /// Indices into the request's prompts, longest first.
    pub(super) prompts: Vec<usize>,
    /// Samples of each of them.
    pub(super) samples: Range<usize>,
}

/// What waits.
#[derive(Debug)]
pub(super) struct Queue {
    /// Prompts and their lengths, longest first.
    order: Vec<(usize, usize)>,
    /// How many of them have started all their samples.
    done: usize,
    /// Samples of the next prompt that have started.
    started: usize,
    samples: usize,
    max_new: usize,
    limits: LocalLimits,
}

impl Queue {
    pub(super) fn new(request: &SampleRequest<'_>, limits: LocalLimits) -> Self {
        let mut order: Vec<(usize, usize)> =
            request.prompts.iter().map(|prompt| prompt.ids.len()).enumerate().collect();
        order.sort_by_key(|&(_, len)| std::cmp::Reverse(len));
        let (samples, max_new) = (request.samples_per_prompt, request.params.max_new_tokens);
        let done = if samples == 0 { order.len() } else { 0 };
        Self { order, done, started: 0, samples, max_new, limits }
    }

    /// Whether all have started.
    pub(super) fn is_empty(&self) -> bool {
        self.done == self.order.len()
    }

    /// What starts beside `rows` running sequences that hold `tokens` tokens. While any run, a
    /// wave waits until an eighth of the rows is free: computing few prompts at a time is slow.
    pub(super) fn next(&mut self, rows: usize, tokens: usize) -> Option<Wave> {
        let &(prompt, len) = self.order.get(self.done)?;
        let alone = rows == 0;
        let free_rows = self.limits.max_rows.saturating_sub(rows);
        if !alone && free_rows < self.limits.max_rows / 8 {
            return None;
        }
        let own = self.limits.max_tokens.saturating_sub(len) / self.max_new.max(1);
        let at_once = self.limits.max_rows.min(own).clamp(1, self.samples);
        if at_once < self.samples {
            if !alone {
                return None;
            }
            let samples = self.started..self.samples.min(self.started + at_once);
            self.started = samples.end % self.samples;
            self.done += usize::from(self.started == 0);
            return Some(Wave { prompts: vec![prompt], samples });
        }
        // Each counts as long as the longest, the first.
        let each = len.saturating_add(self.samples.saturating_mul(self.max_new)).max(1);
        let free_tokens = self.limits.max_tokens.saturating_sub(tokens);
        let count = (free_rows / self.samples).min(free_tokens / each);
        let last = self.order.len().min(self.done + count);
        let prompts: Vec<usize> = self.order[self.done..last].iter().map(|&(p, _)| p).collect();
        self.done = last;
        (!prompts.is_empty()).then_some(Wave { prompts, samples: 0..self.samples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Stream;
    use crate::prompt::Prompt;
    use crate::sampling::SamplingParams;

    fn queue(lens: &[usize], samples: usize, (max_rows, max_tokens): (usize, usize)) -> Queue {
        let prompt = |&len: &usize| Prompt {
            id: format!("p{len}"),
            text: String::new(),
            ids: vec![1; len],
            messages: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            over_budget: false,
        };
        let prompts: Vec<Prompt> = lens.iter().map(prompt).collect();
        let request = SampleRequest {
            prompts: &prompts,
            samples_per_prompt: samples,
            params: &SamplingParams::plain(10, &[]),
            stream: Stream::Tokens,
            seed: 0,
            step: 0,
            first_prompt: 0,
            first_sample: 0,
            weights_version: 0,
        };
        Queue::new(&request, LocalLimits { max_rows, max_tokens })
    }

    /// The waves when each starts after the one before has ended.
    #[track_caller]
    fn check(
        lens: &[usize],
        samples: usize,
        limits: (usize, usize),
        expected: &[(&[usize], Range<usize>)],
    ) {
        let mut queue = queue(lens, samples, limits);
        for (prompts, samples) in expected {
            assert!(!queue.is_empty());
            let wave = Wave { prompts: prompts.to_vec(), samples: samples.clone() };
            assert_eq!(queue.next(0, 0), Some(wave));
        }
        assert!(queue.is_empty());
        assert_eq!(queue.next(0, 0), None);
    }

    #[test]
    fn waves_keep_the_limits_and_put_like_lengths_together() {
        check(&[], 4, (8, 1000), &[]);
        check(&[3], 0, (8, 1000), &[]);
        check(&[5, 9, 5, 8], 4, (8, 1000), &[(&[1, 3], 0..4), (&[0, 2], 0..4)]);
        // 9 + 4 * 10 tokens for the longest; two prompts of 5 take 90.
        check(&[5, 9, 5], 4, (100, 97), &[(&[1], 0..4), (&[0, 2], 0..4)]);
        // Too many samples at once: several waves of one prompt.
        check(&[5], 5, (2, 1000), &[(&[0], 0..2), (&[0], 2..4), (&[0], 4..5)]);
        check(&[5, 6], 3, (100, 26), &[(&[1], 0..2), (&[1], 2..3), (&[0], 0..2), (&[0], 2..3)]);
        // Nothing fits: one sample at a time.
        check(&[50], 2, (8, 20), &[(&[0], 0..1), (&[0], 1..2)]);
    }

    #[test]
    fn those_that_run_leave_room_or_none() {
        let mut queue = queue(&[5; 40], 1, (16, 200));
        assert_eq!(queue.next(0, 0).map(|wave| wave.prompts.len()), Some(13), "200 / 15 tokens");
        assert_eq!(queue.next(15, 0), None, "an eighth of the rows is not free");
        assert_eq!(queue.next(14, 190), None, "no token is");
        assert_eq!(queue.next(14, 150).map(|wave| wave.prompts.len()), Some(2), "two rows are");
    }
}
