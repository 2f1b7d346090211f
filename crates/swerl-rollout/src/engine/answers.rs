//! From an engine's answer to a completion: everything that a trainer relies on is checked, because
//! an engine is another program of another version.

use swerl_grpo::Finish;

use super::dialect::{Answer, SLACK};
use super::http::Failure;
use crate::codec::TextCodec;
use crate::completion::{Completion, Timings, VersionSpan};
use crate::sampling::SamplingParams;
use crate::stopping::spoken_text;

/// What an answer is checked against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a, C> {
    pub(crate) codec: &'a C,
    pub(crate) params: &'a SamplingParams,
    /// Number of tokens that the model has.
    pub(crate) vocabulary: usize,
    /// The version of weights that the engine calls by no number: those it was started with.
    pub(crate) unnamed: u64,
    /// The version of weights where the engine says nothing.
    pub(crate) unsaid: u64,
}

impl<C: TextCodec> Expected<'_, C> {
    /// The completion, with raw log-probs where they are the sampled ones and without them where they
    /// have to be asked for.
    ///
    /// # Errors
    /// [`Failure::Answer`], naming the rule that is broken.
    pub(crate) fn completion(&self, answer: Answer) -> Result<Completion, Failure> {
        if answer.finish == Finish::Abort {
            return Err(Failure::answer("the engine gave the completion up"));
        }
        if let Some(text) = answer.text {
            return self.text_only(text, answer.finish);
        }
        self.check_ids(&answer)?;
        let spans = self.spans(&answer)?;
        // A greedy draw is a certainty under the distribution sampled from.
        let greedy = self.params.temperature == 0.0;
        let log_probs: Vec<f32> = answer
            .log_probs
            .iter()
            .map(|value| if greedy { 0.0 } else { value.min(0.0) })
            .collect();
        let raw_log_probs = if self.params.is_plain() { log_probs.clone() } else { Vec::new() };
        Ok(Completion {
            text: spoken_text(self.codec, &answer.ids, self.params),
            log_probs,
            raw_log_probs,
            finish: answer.finish,
            weights_version: spans.iter().map(|span| span.version).min().unwrap_or(0),
            version_spans: if spans.len() > 1 { spans } else { Vec::new() },
            timings: Timings::default(),
            ids: answer.ids,
        })
    }

    fn check_ids(&self, answer: &Answer) -> Result<(), Failure> {
        let (ids, params) = (&answer.ids, self.params);
        let wrong = |problem: String| Err(Failure::answer(problem));
        let Some(last) = ids.last() else { return wrong("no token".to_owned()) };
        if ids.len() > params.max_new_tokens {
            return wrong(format!("{} tokens of at most {}", ids.len(), params.max_new_tokens));
        }
        if answer.log_probs.len() != ids.len() {
            return wrong(format!("{} log-probs for {} tokens", answer.log_probs.len(), ids.len()));
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.vocabulary) {
            return wrong(format!("token {id} of a vocabulary of {}", self.vocabulary));
        }
        let broken = |value: &f32| !(value.is_finite() && *value <= SLACK);
        if let Some(at) = answer.log_probs.iter().position(broken) {
            return wrong(format!("the log-prob of token {at} is {}", answer.log_probs[at]));
        }
        let is_stop = |id: &u32| params.stop_ids.contains(id);
        if let Some(at) = ids[..ids.len() - 1].iter().position(is_stop) {
            return wrong(format!("it went on behind stop id {} at token {at}", ids[at]));
        }
        if ids.len() <= params.min_new_tokens && is_stop(last) {
            return wrong(format!("it ended before {} tokens", params.min_new_tokens));
        }
        match answer.finish {
            Finish::Stop if !is_stop(last) && params.stop_strings.is_empty() => {
                wrong(format!("it stopped at token {last}, which is no stop id of the request"))
            }
            Finish::Length if ids.len() < params.max_new_tokens => wrong(format!(
                "it was cut at {} of {} tokens; raise the engine's context length",
                ids.len(),
                params.max_new_tokens
            )),
            _ => Ok(()),
        }
    }

    /// The versions of all tokens, in order and without gaps.
    fn spans(&self, answer: &Answer) -> Result<Vec<VersionSpan>, Failure> {
        let len = answer.ids.len();
        if answer.spans.is_empty() {
            let version = self.unsaid;
            return Ok(vec![VersionSpan { version, start: 0, end: len }]);
        }
        let mut at = 0;
        for span in &answer.spans {
            if span.start != at || span.end <= span.start {
                return Err(Failure::answer(format!("weight_versions have a gap at token {at}")));
            }
            at = span.end;
        }
        if at != len {
            return Err(Failure::answer(format!("weight_versions end at {at} of {len} tokens")));
        }
        Ok(answer.spans.iter().map(|span| span.known(self.unnamed)).collect())
    }

    /// A completion of which only the text is known. Its ids are those of the text encoded, to be
    /// counted; its log-probs are NaN, so that no use of them goes unseen.
    fn text_only(&self, text: String, finish: Finish) -> Result<Completion, Failure> {
        let ids = self.codec.encode(&text);
        if ids.is_empty() {
            return Err(Failure::answer("an empty text"));
        }
        Ok(Completion {
            log_probs: vec![f32::NAN; ids.len()],
            raw_log_probs: vec![f32::NAN; ids.len()],
            ids,
            text,
            finish,
            weights_version: self.unsaid,
            version_spans: Vec::new(),
            timings: Timings::default(),
        })
    }
}

/// Values for the tests of this module's neighbours.
#[cfg(test)]
pub(crate) mod fixtures {
    use crate::prompt::Prompt;

    pub(crate) fn prompt(ids: &[u32]) -> Prompt {
        Prompt {
            id: "o/r#1".to_owned(),
            text: "text".to_owned(),
            ids: ids.to_vec(),
            messages: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            over_budget: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialect::Span;
    use super::*;

    struct Letters;

    impl TextCodec for Letters {
        fn encode(&self, text: &str) -> Vec<u32> {
            text.bytes().map(u32::from).collect()
        }

        fn decode(&self, ids: &[u32]) -> String {
            ids.iter().map(|&id| char::from(u8::try_from(id).expect("a byte"))).collect()
        }

        fn token_id(&self, _: &str) -> Option<u32> {
            None
        }
    }

    fn answer(ids: &[u32], finish: Finish) -> Answer {
        let log_probs = vec![-0.5; ids.len()];
        Answer { ids: ids.to_vec(), log_probs, finish, spans: Vec::new(), text: None }
    }

    fn complete(answer: Answer, params: &SamplingParams) -> Result<Completion, Failure> {
        let expected = Expected { codec: &Letters, params, vocabulary: 128, unnamed: 6, unsaid: 7 };
        expected.completion(answer)
    }

    #[track_caller]
    fn refused(answer: Answer, params: &SamplingParams, named: &str) {
        let failure = complete(answer, params).expect_err("refused");
        assert!(failure.to_string().contains(named) && failure.is_transient(), "{failure}");
    }

    #[test]
    fn what_a_trainer_relies_on_is_checked() {
        let params = SamplingParams { min_new_tokens: 1, ..SamplingParams::plain(4, &[10]) };
        use Finish::{Abort, Length, Stop};
        assert!(complete(answer(&[65, 10], Stop), &params).is_ok());
        assert!(complete(answer(&[65, 66, 67, 68], Length), &params).is_ok());
        refused(answer(&[], Stop), &params, "no token");
        refused(answer(&[65; 5], Length), &params, "5 tokens of at most 4");
        refused(answer(&[65; 3], Length), &params, "cut at 3 of 4");
        refused(answer(&[65, 66], Stop), &params, "no stop id");
        refused(answer(&[10, 65, 10], Stop), &params, "went on behind stop id 10");
        refused(answer(&[10], Stop), &params, "before 1 tokens");
        refused(answer(&[200, 10], Stop), &params, "vocabulary of 128");
        refused(answer(&[65], Abort), &params, "gave the completion up");
        for value in [f32::NAN, f32::NEG_INFINITY, 0.5] {
            let mut answer = answer(&[65, 10], Stop);
            answer.log_probs[1] = value;
            refused(answer, &params, "log-prob of token 1");
        }
        let mut short = answer(&[65, 10], Stop);
        short.log_probs.pop();
        refused(short, &params, "1 log-probs for 2");
    }

    #[test]
    fn versions_are_kept_by_token() {
        let params = SamplingParams::plain(4, &[10]);
        let with = |spans: &[(Option<u64>, usize, usize)]| {
            let spans = spans.iter().map(|&(version, start, end)| Span { version, start, end });
            Answer { spans: spans.collect(), ..answer(&[65, 66, 10], Finish::Stop) }
        };
        let one = complete(with(&[(Some(9), 0, 3)]), &params).expect("complete");
        assert_eq!((one.weights_version, one.version_spans.len()), (9, 0));
        let two = complete(with(&[(None, 0, 1), (Some(9), 1, 3)]), &params).expect("complete");
        assert_eq!(two.weights_version, 6);
        assert_eq!(two.version_spans[1], VersionSpan { version: 9, start: 1, end: 3 });
        let none = complete(with(&[]), &params).expect("complete");
        assert_eq!((none.weights_version, none.version_spans.len()), (7, 0));
        refused(with(&[(Some(9), 0, 2)]), &params, "end at 2 of 3");
        refused(with(&[(Some(8), 0, 1), (Some(9), 2, 3)]), &params, "gap at token 1");
    }

    #[test]
    fn log_probs_of_a_cut_distribution_are_not_the_models_own() {
        let cut = SamplingParams { top_k: 2, ..SamplingParams::plain(4, &[10]) };
        let completion = complete(answer(&[65, 10], Finish::Stop), &cut).expect("complete");
        assert_eq!((completion.log_probs.len(), completion.raw_log_probs.len()), (2, 0));
        let greedy = SamplingParams::greedy(4, &[10]);
        let completion = complete(answer(&[65, 10], Finish::Stop), &greedy).expect("complete");
        assert_eq!(completion.log_probs, [0.0, 0.0]);
    }

    #[test]
    fn texts_without_ids_can_be_counted_but_not_trained_on() {
        let params = SamplingParams::plain(4, &[10]);
        let text = |text: &str| Answer { text: Some(text.into()), ..answer(&[], Finish::Stop) };
        let completion = complete(text("abc"), &params).expect("complete");
        assert_eq!((completion.ids.len(), completion.text.as_str()), (3, "abc"));
        assert!(completion.log_probs.iter().all(|value| value.is_nan()));
        refused(text(""), &params, "an empty text");
    }
}
