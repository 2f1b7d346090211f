//! Where a completion's text ends: stop ids are not spoken, stop strings are.

use crate::codec::TextCodec;
use crate::sampling::SamplingParams;

/// Looks for stop strings in the newest tokens of a completion.
///
/// A string of `L` bytes that the newest token completes lies within the last `L` tokens that have
/// any text, so no more than those are decoded, whatever the length of the completion.
#[cfg(any(feature = "local", test))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopStrings<'a, C> {
    codec: &'a C,
    params: &'a SamplingParams,
    longest: usize,
}

#[cfg(any(feature = "local", test))]
impl<'a, C: TextCodec> StopStrings<'a, C> {
    pub(crate) fn new(codec: &'a C, params: &'a SamplingParams) -> Self {
        let longest = params.stop_strings.iter().map(String::len).max().unwrap_or(0);
        Self { codec, params, longest }
    }

    /// Whether the text of the tokens, given from the newest back, holds a stop string that may end
    /// it. Asked after each token.
    pub(crate) fn ends(&self, newest_first: impl ExactSizeIterator<Item = u32>) -> bool {
        if self.longest == 0 || newest_first.len() < self.params.min_new_tokens.max(1) {
            return false;
        }
        let mut window = Vec::new();
        let mut with_text = 0;
        for token in newest_first {
            // One more than needed: some tokenizers drop a blank at the start of a text.
            if with_text > self.longest {
                break;
            }
            with_text += usize::from(!self.codec.decode(&[token]).is_empty());
            window.push(token);
        }
        window.reverse();
        let text = self.codec.decode(&window);
        let older = self.codec.decode(&window[..window.len() - 1]);
        first_end(&self.params.stop_strings, &text, common_start(&text, &older)).is_some()
    }
}

/// Where the first stop string ends that ends behind `after`, in bytes.
fn first_end(stops: &[String], text: &str, after: usize) -> Option<usize> {
    let end = |stop: &String| {
        let ends = (0..=text.len()).filter(|&at| text.is_char_boundary(at));
        ends.filter(|&at| at > after).find(|&at| text[..at].ends_with(stop.as_str()))
    };
    stops.iter().filter_map(end).min()
}

/// Length of the longest equal start. A character that is cut in one text is not equal.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// The text of a completion's `ids`: without a final stop id, and cut behind the stop string that
/// ends it.
pub(crate) fn spoken_text(codec: &impl TextCodec, ids: &[u32], params: &SamplingParams) -> String {
    let spoken = match ids.split_last() {
        Some((last, rest)) if params.stop_ids.contains(last) => rest,
        _ => ids,
    };
    let mut text = codec.decode(spoken);
    // A string that stood before `min_new_tokens` ended nothing.
    let free = params.min_new_tokens.saturating_sub(1).min(spoken.len());
    let after = if free == 0 { 0 } else { common_start(&text, &codec.decode(&spoken[..free])) };
    if let Some(end) = first_end(&params.stop_strings, &text, after) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id 0 has no text, 1.. are letters from `a`, 100 is `bc`.
    struct Letters;

    impl TextCodec for Letters {
        fn encode(&self, _: &str) -> Vec<u32> {
            unreachable!("nothing is encoded")
        }

        fn decode(&self, ids: &[u32]) -> String {
            ids.iter()
                .map(|&id| match id {
                    0 => String::new(),
                    100 => "bc".to_owned(),
                    _ => char::from(u8::try_from(id + 96).expect("a letter")).to_string(),
                })
                .collect()
        }

        fn token_id(&self, _: &str) -> Option<u32> {
            None
        }
    }

    fn params(stops: &[&str], min_new_tokens: usize) -> SamplingParams {
        SamplingParams {
            stop_strings: stops.iter().map(|&stop| stop.to_owned()).collect(),
            min_new_tokens,
            ..SamplingParams::plain(50, &[9])
        }
    }

    /// The number of tokens after which `ids` ends, and its text there.
    #[track_caller]
    fn check(stops: &[&str], min: usize, ids: &[u32], end: Option<usize>, text: &str) {
        let params = params(stops, min);
        let stop = StopStrings::new(&Letters, &params);
        let found = (1..=ids.len()).find(|&n| stop.ends(ids[..n].iter().rev().copied()));
        assert_eq!(found, end);
        assert_eq!(spoken_text(&Letters, &ids[..end.unwrap_or(ids.len())], &params), text);
    }

    #[test]
    fn the_text_ends_with_the_string() {
        check(&["ab"], 0, &[3, 1, 2, 4], Some(3), "cab");
        // Tokens without text between, and a token with more than the string needs.
        check(&["ab"], 0, &[1, 0, 0, 0, 0, 100, 4], Some(6), "ab");
        check(&["abcd", "b"], 0, &[1, 2, 3], Some(2), "ab");
        check(&["xyz"], 0, &[1, 2, 3, 9], None, "abc");
        check(&[], 0, &[1, 2, 9], None, "ab");
    }

    #[test]
    fn strings_end_nothing_before_the_smallest_length() {
        check(&["a"], 3, &[1, 2, 2, 1, 2], Some(4), "abba");
        check(&["a"], 3, &[1, 2, 1], Some(3), "aba");
        // Looked back on, a string is not met again.
        check(&["ab"], 3, &[1, 2, 3, 1, 2], Some(5), "abcab");
    }
}
