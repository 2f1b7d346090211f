//! One row: what is scored, and the score as a line of JSON.
//!
//! Format: docs/data-format.md, "Rows of `swerl score`".

use std::{collections::BTreeMap, error::Error, fmt};

use serde::{Deserialize, Serialize};
use swerl::{
    data::SeedExample,
    reward::{NearMiss, Outcome, Scorer, Target, similarity::Matcher},
};

use super::lines::{Line, MAX_LINE};

/// Seeds by id.
pub(crate) type Seeds = BTreeMap<String, SeedExample>;

/// Path to text.
type Files = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
struct Row {
    id: Option<Id>,
    seed: Option<String>,
    context: Option<Files>,
    oracle: Option<Files>,
    output: String,
}

/// An id as the user wrote it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

#[derive(Debug, Serialize)]
struct ScoreRow<'a> {
    id: Id,
    reward: f64,
    outcome: &'a Outcome,
    reason: String,
    similarities: &'a BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    near_miss: Option<&'a NearMiss>,
}

/// A scored row.
#[derive(Debug)]
pub(crate) struct Scored {
    /// JSON, without a line end.
    pub(crate) line: String,
    /// -1 or in [0, 1].
    pub(crate) reward: f64,
    /// Whether the format was valid.
    pub(crate) valid: bool,
    /// Whether every patch equals the oracle's.
    pub(crate) exact: bool,
}

/// Why a row cannot be read.
#[derive(Debug)]
pub(crate) enum RowError {
    /// Longer than [`MAX_LINE`].
    TooLong,
    /// Not a row.
    Json(serde_json::Error),
    /// Neither a seed nor both texts.
    NothingToCompare,
    /// A seed that the seeds file lacks.
    UnknownSeed(String),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "longer than {} MiB", MAX_LINE >> 20),
            Self::Json(error) => write!(f, "not a row to score: {error}"),
            Self::NothingToCompare => {
                write!(f, "a row needs `context` and `oracle`, or `seed` (with --seeds FILE)")
            }
            Self::UnknownSeed(id) => write!(f, "no seed is called {id:?} (see --seeds)"),
        }
    }
}

impl Error for RowError {}

/// Scores one line; blank lines give nothing. `matcher` is scratch memory.
pub(crate) fn score(
    matcher: &mut Matcher,
    line: &Line,
    seeds: &Seeds,
) -> Result<Option<Scored>, RowError> {
    let bytes = line.bytes.as_deref().ok_or(RowError::TooLong)?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let row: Row = serde_json::from_slice(bytes).map_err(RowError::Json)?;
    let (context, oracle) = match (row.context, row.oracle, &row.seed) {
        (Some(context), Some(oracle), None) => (context, oracle),
        (None, None, Some(id)) => {
            let seed = seeds.get(id).ok_or_else(|| RowError::UnknownSeed(id.clone()))?;
            (seed.context(), seed.oracle.clone())
        }
        _ => return Err(RowError::NothingToCompare),
    };
    let score = Scorer::new().score(matcher, &Target::new(&context, &oracle), &row.output);
    let id = row.id.or(row.seed.map(Id::Text));
    let row = ScoreRow {
        id: id.unwrap_or(Id::Number(line.number)),
        reward: score.reward,
        outcome: &score.outcome,
        reason: score.outcome.to_string(),
        similarities: &score.similarities,
        near_miss: score.near_miss.as_ref(),
    };
    Ok(Some(Scored {
        line: serde_json::to_string(&row).expect("a score has string keys and finite numbers"),
        reward: score.reward,
        valid: score.is_valid(),
        exact: score.is_exact(),
    }))
}
