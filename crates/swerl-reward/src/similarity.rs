//! Similarity of two texts, equal to CPython's `difflib.SequenceMatcher` to the last bit.
//!
//! ```text
//! ratio(a, b) = 2 M / (|a| + |b|)        both texts empty: 1
//! ```
//! over Unicode code points, `M` the total size of the matching blocks: the longest common
//! substring first (ties to the earliest in `a`, then the earliest in `b`), then the same on
//! both sides of it. `autojunk` is off, so every character counts, however frequent.
//!
//! The blocks are difflib's; the way to them is not. difflib walks all occurrences of every
//! character, which is quadratic and more; here each round costs `O(|a| + |b|)` and takes
//! every block of its length at once, see [`Matcher`]. The ratio is not symmetric.
//!
//! Texts are compared as they are: no Unicode normalisation, no folding of white space.

mod automaton;
mod bits;
mod clock;
mod grams;
mod interner;
mod matcher;
mod region;
mod runs;
mod task;
mod walk;

pub use matcher::Matcher;
pub use region::Block;

/// The ratio of difflib over the code points of two texts, in `[0, 1]`.
///
/// `a` is the prediction and `b` the oracle; the order matters. Two empty texts give 1.
/// For many pairs keep a [`Matcher`] and call [`Matcher::ratio`]: its memory is reused.
///
/// ```
/// use swerl_reward::similarity::ratio;
/// assert_eq!(ratio("tide", "diet"), 0.25);
/// assert_eq!(ratio("diet", "tide"), 0.5);
/// ```
#[must_use]
pub fn ratio(a: &str, b: &str) -> f64 {
    Matcher::new().ratio(a, b)
}
