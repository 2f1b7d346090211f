//! Drawing one token: temperature, truncation, and the two log-probabilities of the draw.
//!
//! ```text
//! p[i] ~ exp(logit[i] / T)                      over the vocabulary
//! min-p: keep p >= min_p * max p; top-k: keep the k largest; renormalise; then
//! top-p: keep the shortest run of largest p whose mass reaches top_p, renormalise
//! token = inverse CDF of p at a uniform number in (0, 1)
//! log_prob = ln p[token]          the distribution sampled from: T and truncation applied
//! raw_log_prob = ln softmax(logits)[token]          the model's own: T = 1, nothing cut
//! ```
//!
//! Sums run in f64 on the host over the f32 logits, in index order (in order of falling logit
//! where something is cut), so equal logits give equal tokens whatever the thread count. Equal
//! logits are ordered by token id. At temperature 0 the largest logit wins and `log_prob` is 0,
//! the logarithm of a certainty: such draws can be evaluated, but not trained on.

use serde::{Deserialize, Serialize};

use crate::error::SampleError;

/// How tokens are sampled. Nothing here has a silent default: each field changes the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingParams {
    /// Logits are divided by this; 0 is greedy. Finite, at least 0. SWE-RL trains at 1.0.
    pub temperature: f64,
    /// Nucleus mass kept, in (0, 1]; 1 keeps all. Below 1 the sampled distribution is not the
    /// trained one: ratios are biased by the mass kept.
    pub top_p: f64,
    /// Number of largest logits kept; 0 keeps all.
    pub top_k: usize,
    /// Tokens less likely than this share of the most likely one are cut, in [0, 1]; 0 keeps all.
    /// Compared at the sampling temperature.
    pub min_p: f64,
    /// Most tokens of a completion, the end token included; at least 1.
    pub max_new_tokens: usize,
    /// Tokens before which no stop id can be drawn (their probability is 0, the others are
    /// renormalised) and no stop string is looked for; 0 for none, at most `max_new_tokens`.
    pub min_new_tokens: usize,
    /// Tokens that end a completion. They are kept in it, with their log-probabilities.
    pub stop_ids: Vec<u32>,
    /// Texts that end a completion once its text holds one. The text ends with the string, which is
    /// kept; the ids keep the whole of the token that completed it. None may be empty.
    pub stop_strings: Vec<String>,
}

impl SamplingParams {
    /// The model's own distribution: temperature 1, nothing cut.
    #[must_use]
    pub fn plain(max_new_tokens: usize, stop_ids: &[u32]) -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            max_new_tokens,
            min_new_tokens: 0,
            stop_ids: stop_ids.to_vec(),
            stop_strings: Vec::new(),
        }
    }

    /// The most likely token each time.
    #[must_use]
    pub fn greedy(max_new_tokens: usize, stop_ids: &[u32]) -> Self {
        Self { temperature: 0.0, ..Self::plain(max_new_tokens, stop_ids) }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`SampleError::Params`], naming the field.
    pub fn validate(&self) -> Result<(), SampleError> {
        let refuse = |field, value, range| Err(SampleError::Params { field, value, range });
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return refuse("temperature", self.temperature, "finite, at least 0");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return refuse("top_p", self.top_p, "above 0, at most 1");
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return refuse("min_p", self.min_p, "at least 0, at most 1");
        }
        if self.max_new_tokens == 0 {
            return refuse("max_new_tokens", 0.0, "at least 1");
        }
        if self.min_new_tokens > self.max_new_tokens {
            #[allow(clippy::cast_precision_loss)] // For a message.
            return refuse("min_new_tokens", self.min_new_tokens as f64, "at most max_new_tokens");
        }
        if self.stop_strings.iter().any(String::is_empty) {
            return refuse("stop_strings: the shortest length", 0.0, "at least 1");
        }
        Ok(())
    }

    /// Whether every token keeps the probability that the temperature gives it (but for stop ids
    /// before `min_new_tokens`).
    #[must_use]
    pub fn keeps_all(&self) -> bool {
        self.top_k == 0 && self.top_p >= 1.0 && self.min_p == 0.0
    }

    /// Whether tokens are drawn from the model's own distribution: temperature 1, nothing cut.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.temperature == 1.0 && self.keeps_all() && self.min_new_tokens == 0
    }

    /// The tokens that cannot be drawn as number `position` (from 0) of a completion.
    #[must_use]
    pub fn forbidden(&self, position: usize) -> &[u32] {
        if position < self.min_new_tokens { &self.stop_ids } else { &[] }
    }
}

/// A token and its natural log-probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// The token's id.
    pub token: u32,
    /// Under the distribution sampled from.
    pub log_prob: f32,
    /// Under the model itself: temperature 1, nothing cut.
    pub raw_log_prob: f32,
}

/// Draws a token from one row of logits with a uniform number in (0, 1).
///
/// A logit of minus infinity is a forbidden token. `None` when no token can be drawn: a logit is
/// NaN or plus infinity, or all are minus infinity. Assumes parameters that passed
/// [`SamplingParams::validate`]. O(V), O(V log V) where something is cut.
///
/// ```
/// use swerl_rollout::{SamplingParams, draw};
///
/// let logits = [0.0, 3.0_f32.ln(), f32::NEG_INFINITY]; // probabilities 1/4, 3/4, 0
/// let params = SamplingParams::plain(1, &[]);
/// assert_eq!(draw(&logits, &params, 0.24).unwrap().token, 0);
/// let second = draw(&logits, &params, 0.26).unwrap();
/// assert_eq!(second.token, 1);
/// assert!((second.log_prob - 0.75_f32.ln()).abs() < 1e-6);
/// ```
#[must_use]
pub fn draw(logits: &[f32], params: &SamplingParams, uniform: f64) -> Option<Draw> {
    draw_allowed(logits, &[], params, uniform)
}

/// [`draw`], where the tokens of `forbidden` have probability 0 in the distribution sampled from.
/// The raw log-probability is the whole model's. Ids outside the row are ignored.
#[must_use]
pub fn draw_allowed(
    logits: &[f32],
    forbidden: &[u32],
    params: &SamplingParams,
    uniform: f64,
) -> Option<Draw> {
    if forbidden.is_empty() {
        return draw_row(logits, params, uniform);
    }
    let max = largest(logits)?;
    let mut allowed = logits.to_vec();
    for &token in forbidden {
        if let Some(logit) = allowed.get_mut(token as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }
    let drawn = draw_row(&allowed, params, uniform)?;
    let raw = Tempered { logits, max, temperature: 1.0 };
    #[allow(clippy::cast_possible_truncation)] // Log-probabilities are stored as f32 by design.
    let raw_log_prob = raw.log_prob(drawn.token as usize) as f32;
    Some(Draw { raw_log_prob, ..drawn })
}

#[allow(clippy::cast_possible_truncation)] // Log-probabilities are stored as f32 by design.
fn draw_row(logits: &[f32], params: &SamplingParams, uniform: f64) -> Option<Draw> {
    let max = largest(logits)?;
    let raw = Tempered { logits, max, temperature: 1.0 };
    let (index, log_prob) = if params.temperature == 0.0 {
        (logits.iter().position(|&logit| f64::from(logit) == max)?, 0.0)
    } else {
        let tempered = Tempered { temperature: params.temperature, ..raw };
        if params.keeps_all() {
            tempered.draw(0..logits.len(), uniform)?
        } else {
            tempered.draw(tempered.kept(params), uniform)?
        }
    };
    let same = params.temperature == 1.0 && params.keeps_all();
    let raw_log_prob = if same { log_prob } else { raw.log_prob(index) };
    Some(Draw {
        token: u32::try_from(index).expect("vocabularies are smaller than u32::MAX"),
        log_prob: log_prob as f32,
        raw_log_prob: raw_log_prob as f32,
    })
}

/// The largest logit; `None` for rows that cannot be drawn from.
fn largest(logits: &[f32]) -> Option<f64> {
    let mut max = f32::NEG_INFINITY;
    for &logit in logits {
        if logit.is_nan() {
            return None;
        }
        max = max.max(logit);
    }
    max.is_finite().then_some(f64::from(max))
}

/// Logits under a temperature above 0, shifted by the largest.
struct Tempered<'a> {
    logits: &'a [f32],
    max: f64,
    temperature: f64,
}

impl Tempered<'_> {
    fn scaled(&self, index: usize) -> f64 {
        (f64::from(self.logits[index]) - self.max) / self.temperature
    }

    fn log_prob(&self, index: usize) -> f64 {
        let total: f64 = (0..self.logits.len()).map(|i| self.scaled(i).exp()).sum();
        self.scaled(index) - total.ln()
    }

    /// The tokens that truncation keeps, by falling logit, equal ones by id.
    fn kept(&self, params: &SamplingParams) -> Vec<usize> {
        let falling =
            |a: &usize, b: &usize| self.logits[*b].total_cmp(&self.logits[*a]).then(a.cmp(b));
        let mut order: Vec<usize> = (0..self.logits.len()).collect();
        if params.top_k > 0 && params.top_k < order.len() {
            order.select_nth_unstable_by(params.top_k - 1, falling);
            order.truncate(params.top_k);
        }
        order.sort_unstable_by(falling);
        if params.min_p > 0.0 {
            let end = order.iter().position(|&i| self.scaled(i).exp() < params.min_p);
            order.truncate(end.unwrap_or(order.len()));
        }
        if params.top_p < 1.0 {
            let total: f64 = order.iter().map(|&i| self.scaled(i).exp()).sum();
            let mut mass = 0.0;
            let end = order.iter().position(|&i| {
                mass += self.scaled(i).exp();
                mass >= params.top_p * total
            });
            order.truncate(end.map_or(order.len(), |end| end + 1));
        }
        order
    }

    /// Inverse CDF over `support`, and the log-probability within it. `None` if it has no mass.
    fn draw(&self, support: impl IntoIterator<Item = usize>, uniform: f64) -> Option<(usize, f64)> {
        let mut total = 0.0;
        let weights: Vec<(usize, f64)> = support
            .into_iter()
            .map(|index| (index, self.scaled(index).exp()))
            .filter(|&(_, weight)| weight > 0.0)
            .inspect(|&(_, weight)| total += weight)
            .collect();
        let goal = uniform * total;
        let mut mass = 0.0;
        let found = weights.iter().find(|&&(_, weight)| {
            mass += weight;
            mass > goal
        });
        // Rounding may leave the goal at the very end of the sum.
        let &(index, _) = found.or(weights.last())?;
        Some((index, self.scaled(index) - total.ln()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(params: &SamplingParams, logits: &[f32], uniform: f64, token: u32, p: f64, raw: f64) {
        let draw = draw(logits, params, uniform).expect("can be drawn");
        assert_eq!(draw.token, token);
        assert!((f64::from(draw.log_prob) - p.ln()).abs() < 1e-6, "{draw:?}");
        assert!((f64::from(draw.raw_log_prob) - raw.ln()).abs() < 1e-6, "{draw:?}");
    }

    fn logits(probabilities: &[f64]) -> Vec<f32> {
        // Shifted, so that nothing relies on normalised input.
        probabilities.iter().map(|p| (p.ln() + 5.0) as f32).collect()
    }

    #[test]
    fn worked_draws() {
        let row = logits(&[0.1, 0.4, 0.2, 0.3]);
        let plain = SamplingParams::plain(1, &[]);
        check(&plain, &row, 0.05, 0, 0.1, 0.1);
        check(&plain, &row, 0.45, 1, 0.4, 0.4);
        check(&plain, &row, 0.999, 3, 0.3, 0.3);
        // T = 1/2 squares the probabilities: 0.01, 0.16, 0.04, 0.09 of 0.30.
        let sharp = SamplingParams { temperature: 0.5, ..plain.clone() };
        check(&sharp, &row, 0.5, 1, 0.16 / 0.30, 0.4);
        // By falling probability: 1, 3 | 2, 0.
        let top_k = SamplingParams { top_k: 2, ..plain.clone() };
        check(&top_k, &row, 0.5, 1, 0.4 / 0.7, 0.4);
        check(&top_k, &row, 0.6, 3, 0.3 / 0.7, 0.3);
        let top_p = SamplingParams { top_p: 0.71, ..plain.clone() };
        check(&top_p, &row, 0.95, 2, 0.2 / 0.9, 0.2);
        let tiny = SamplingParams { top_p: 1e-9, ..plain.clone() };
        check(&tiny, &row, 0.95, 1, 1.0, 0.4);
        // top-k first: of 0.4/0.7 and 0.3/0.7 the first alone reaches one half.
        let both = SamplingParams { top_k: 2, top_p: 0.5, ..plain };
        check(&both, &row, 0.95, 1, 1.0, 0.4);
        check(&SamplingParams::greedy(1, &[]), &row, 0.01, 1, 1.0, 0.4);
        // 0.2 is below 0.6 of 0.4, 0.3 is not; at T = 1/2 0.09 is below 0.6 of 0.16.
        let min_p = SamplingParams { min_p: 0.6, ..SamplingParams::plain(1, &[]) };
        check(&min_p, &row, 0.99, 3, 0.3 / 0.7, 0.3);
        check(&SamplingParams { temperature: 0.5, ..min_p }, &row, 0.99, 1, 1.0, 0.4);
    }

    #[test]
    fn forbidden_tokens_are_cut_from_the_sampled_distribution_alone() {
        let row = logits(&[0.1, 0.4, 0.2, 0.3]);
        let params = SamplingParams { min_new_tokens: 2, ..SamplingParams::plain(8, &[1, 900]) };
        let at = |position| draw_allowed(&row, params.forbidden(position), &params, 0.4).unwrap();
        assert_eq!((at(1).token, at(2).token), (2, 1));
        assert!((f64::from(at(1).log_prob) - (0.2_f64 / 0.6).ln()).abs() < 1e-6);
        assert!((f64::from(at(1).raw_log_prob) - 0.2_f64.ln()).abs() < 1e-6);
        assert_eq!(draw_allowed(&row, &[0, 1, 2, 3], &params, 0.4), None);
    }

    #[test]
    fn equal_logits_go_to_the_smaller_id() {
        let row = [1.0, 2.0, 2.0, 2.0];
        assert_eq!(draw(&row, &SamplingParams::greedy(1, &[]), 0.9).unwrap().token, 1);
        let top = SamplingParams { top_k: 2, ..SamplingParams::plain(1, &[]) };
        assert_eq!(draw(&row, &top, 0.99).unwrap().token, 2);
    }

    #[test]
    fn rows_without_a_distribution_are_refused() {
        let plain = SamplingParams::plain(1, &[]);
        for row in [&[][..], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0], &[f32::NEG_INFINITY; 2]] {
            assert_eq!(draw(row, &plain, 0.5), None, "{row:?}");
        }
        // Extremes of the range are fine.
        let row = [-3.0e38, 3.0e38, f32::NEG_INFINITY];
        assert_eq!(draw(&row, &plain, 0.999_999).unwrap().token, 1);
        assert_eq!(draw(&row, &plain, 1e-300).unwrap().token, 1);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let plain = SamplingParams::plain(8, &[]);
        assert!(plain.validate().is_ok());
        for (params, field) in [
            (SamplingParams { temperature: -1.0, ..plain.clone() }, "temperature"),
            (SamplingParams { temperature: f64::NAN, ..plain.clone() }, "temperature"),
            (SamplingParams { top_p: 0.0, ..plain.clone() }, "top_p"),
            (SamplingParams { top_p: 1.5, ..plain.clone() }, "top_p"),
            (SamplingParams { min_p: -0.1, ..plain.clone() }, "min_p"),
            (SamplingParams { min_p: f64::NAN, ..plain.clone() }, "min_p"),
            (SamplingParams { min_new_tokens: 9, ..plain.clone() }, "min_new_tokens"),
            (SamplingParams { stop_strings: vec![String::new()], ..plain.clone() }, "stop_strings"),
            (SamplingParams { max_new_tokens: 0, ..plain }, "max_new_tokens"),
        ] {
            let error = params.validate().expect_err("out of range");
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}
