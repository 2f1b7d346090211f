//! One row: what is scored, and the score as a line of JSON.
//!
//! Format: docs/data-format.md, "Rows of `swerl score`".

use std::{collections::BTreeMap, error::Error, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};
use swerl::{
    data::SeedExample,
    reward::{NearMiss, Outcome, Scorer, Target, similarity::Matcher},
};

use super::{
    lines::{Line, MAX_LINE},
    text::{self, Text},
};

/// Seeds by id.
pub(crate) type Seeds = BTreeMap<String, SeedExample>;

/// Path to text.
type Files = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
struct Row {
    id: Option<Id>,
    kind: Option<Kind>,
    seed: Option<String>,
    context: Option<BTreeMap<Text, Text>>,
    oracle: Option<BTreeMap<Text, Text>>,
    output: Option<Text>,
    prediction: Option<BTreeMap<Text, Text>>,
    oracle_patches: Option<Vec<Text>>,
    pred_patches: Option<Vec<Text>>,
}

/// How the prediction is written.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// A model's whole answer with search/replace edits.
    #[default]
    SearchReplace,
    /// New file contents.
    General,
    /// Unified diffs.
    Unidiff,
}

/// An id as the user wrote it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "`id` must be a string or a number of at most 64 bits (write others as strings)"
)]
enum Id {
    #[serde(deserialize_with = "exact")]
    Number(serde_json::Number),
    Text(String),
}

/// A number that a double or a word of 64 bits holds: of a longer integer only a rounded one is known,
/// which could be the id of another row.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<serde_json::Number, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let rounded = number.is_f64() && number.as_f64().is_none_or(|value| value.abs() >= EXACT);
    if rounded { Err(de::Error::custom("too long a number")) } else { Ok(number) }
}

/// 2^63; a longer integer is read as a double.
const EXACT: f64 = (1u64 << 63) as f64;

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
    /// Not JSON, or a field of another type.
    Json(serde_json::Error),
    /// JSON of another type, another encoding, or no JSON.
    NotAnObject,
    /// Not what the kind of row needs.
    Lacks(&'static str),
    /// A seed that the seeds file lacks.
    UnknownSeed(String),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "longer than {} MiB", MAX_LINE >> 20),
            Self::Json(error) => {
                // A row is one line, whose number stands before the message.
                let message = error.to_string().replace(" at line 1 column ", " at column ");
                write!(f, "not a row to score: {message}")
            }
            Self::NotAnObject => {
                write!(f, "not a row to score: a row is one JSON object on a line, in UTF-8")
            }
            Self::Lacks(what) => write!(f, "a row needs {what}"),
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
    match bytes.trim_ascii_start().first() {
        None => return Ok(None),
        Some(b'{') => {}
        Some(_) => return Err(RowError::NotAnObject),
    }
    let row: Row = serde_json::from_slice(bytes).map_err(RowError::Json)?;
    let score = match row.kind.unwrap_or_default() {
        Kind::SearchReplace => {
            let output = row.output.ok_or(RowError::Lacks("`output`"))?;
            let (context, oracle) = files(row.context, row.oracle, row.seed.as_ref(), seeds)?;
            Scorer::new().score(matcher, &Target::new(&context, &oracle), &output.0)
        }
        Kind::General => {
            let predicted = row.prediction.ok_or(RowError::Lacks("`prediction`"))?;
            let (context, oracle) = files(row.context, row.oracle, row.seed.as_ref(), seeds)?;
            Scorer::new().score_contents(matcher, &context, &text::files(predicted), &oracle)
        }
        Kind::Unidiff => match (row.pred_patches, row.oracle_patches) {
            (Some(predicted), Some(oracle)) => {
                Scorer::new().score_unidiff(matcher, &predicted, &oracle)
            }
            _ => return Err(RowError::Lacks("`oracle_patches` and `pred_patches`")),
        },
    };
    let id = row.id.or(row.seed.map(Id::Text));
    let row = ScoreRow {
        id: id.unwrap_or(Id::Number(line.number.into())),
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

/// The files shown and the merged ones: the row's own, or those of the seed that it names.
fn files(
    context: Option<BTreeMap<Text, Text>>,
    oracle: Option<BTreeMap<Text, Text>>,
    seed: Option<&String>,
    seeds: &Seeds,
) -> Result<(Files, Files), RowError> {
    match (context, oracle, seed) {
        (Some(context), Some(oracle), None) => Ok((text::files(context), text::files(oracle))),
        (None, None, Some(id)) => {
            let seed = seeds.get(id).ok_or_else(|| RowError::UnknownSeed(id.clone()))?;
            Ok((seed.context(), seed.oracle.clone()))
        }
        _ => Err(RowError::Lacks("`context` and `oracle`, or `seed` (with --seeds FILE)")),
    }
}
