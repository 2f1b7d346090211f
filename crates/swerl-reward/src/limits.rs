//! Bounds on what one output may cost. Every bound has a default far above honest outputs.
//!
//! Without them a few dozen edits can grow a text exponentially (an empty search text
//! stands before every line), and a million edits of a large file cost their product.

/// Limits of one scoring call. A prediction that passes one has the outcome
/// [`LimitPassed`](crate::Outcome::LimitPassed), with the format penalty as reward for an answer and 0 in
/// the other entries, which know no penalty; nothing is cut silently.
///
/// Only what a model wrote is bounded: the context and the oracle are the caller's, and a
/// prediction equal to the oracle's passes no limit but the first, or the last where its own patch takes
/// that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of an output: of an answer, of all predicted unified diffs, or of what predicted
    /// contents add to the context and oracle. Default 16 MiB.
    pub output_bytes: usize,
    /// Most edits in an answer; in the other entries, most files that a prediction changes besides as
    /// many as the oracle changes. Default 4,096.
    pub edits: usize,
    /// Most bytes that the edits may add to one file; by which one predicted content may be longer
    /// than the context's and oracle's together, or one predicted unified diff longer than the oracle's
    /// of its path. Default 4 MiB.
    pub growth_bytes: usize,
    /// Most bytes of working text searched, over all edits. Default 256 MiB.
    pub searched_bytes: usize,
    /// Most symbols (lines, then characters) that the rounds of all comparisons of a prediction look at, a
    /// symbol anew in every round. Two unrelated texts take fewer than ten passes over both, texts
    /// made for it about the square root of their length. Default 2^28, some ten seconds.
    pub compared_symbols: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 16 << 20,
            edits: 4096,
            growth_bytes: 4 << 20,
            searched_bytes: 256 << 20,
            compared_symbols: 1 << 28,
        }
    }
}

impl Limits {
    /// No limit at all, for trusted text.
    pub const UNLIMITED: Self = Self {
        output_bytes: usize::MAX,
        edits: usize::MAX,
        growth_bytes: usize::MAX,
        searched_bytes: usize::MAX,
        compared_symbols: usize::MAX,
    };
}

/// Which limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::output_bytes`].
    OutputBytes,
    /// [`Limits::edits`].
    Edits,
    /// [`Limits::growth_bytes`].
    GrowthBytes,
    /// [`Limits::searched_bytes`].
    SearchedBytes,
    /// [`Limits::compared_symbols`].
    ComparedSymbols,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OutputBytes => "output_bytes",
            Self::Edits => "edits",
            Self::GrowthBytes => "growth_bytes",
            Self::SearchedBytes => "searched_bytes",
            Self::ComparedSymbols => "compared_symbols",
        })
    }
}
