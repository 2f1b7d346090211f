//! `swerl_reward._native`: swerl-reward for Python.
//!
//! Arguments are copied out of Python, then the interpreter is released and no object of Python is touched
//! until the scores are there; only signals are asked for. Scores go back as plain tuples, see `_native.pyi`; the package makes
//! its classes of them. Whatever a model wrote gets a score; only wrong arguments raise.

mod files;
mod pool;
mod signals;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use swerl_reward::similarity::Matcher;
use swerl_reward::{NearMiss, Score, Scorer, Target, unified_patch_with};

use crate::files::{Files, bounded, bytes, files, items, output, texts};
use crate::signals::heeding;

/// (line, similarity, text, diff)
type NearMissTuple = (usize, f64, String, String);

/// (reward, outcome, reason, similarities, thought, edits, near miss)
type ScoreTuple = (
    f64,
    &'static str,
    String,
    BTreeMap<String, f64>,
    Option<String>,
    usize,
    Option<NearMissTuple>,
);

fn tuple(score: Score) -> ScoreTuple {
    let near_miss = |near: NearMiss| (near.line, near.similarity, near.text, near.diff);
    (
        score.reward,
        score.outcome.kind(),
        score.outcome.to_string(),
        score.similarities,
        score.thought,
        score.edits,
        score.near_miss.map(near_miss),
    )
}

#[pyfunction]
#[pyo3(signature = (context, oracle, output, /))]
fn score(
    py: Python<'_>,
    context: &Bound<'_, PyAny>,
    oracle: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
) -> PyResult<ScoreTuple> {
    let context = files(context, "context")?;
    let oracle = files(oracle, "oracle")?;
    let output = files::output(output, "output")?;
    heeding(py, bytes(&context) + bytes(&oracle) + output.len(), |cancel| {
        Matcher::new().unless(cancel, |matcher| {
            tuple(Scorer::new().score(matcher, &Target::new(&context, &oracle), &output))
        })
    })
}

#[pyfunction]
#[pyo3(signature = (contexts, oracles, outputs, /))]
fn score_batch(
    py: Python<'_>,
    contexts: &Bound<'_, PyAny>,
    oracles: &Bound<'_, PyAny>,
    outputs: &Bound<'_, PyAny>,
) -> PyResult<Vec<ScoreTuple>> {
    let contexts = items(contexts, "contexts")?;
    let oracles = items(oracles, "oracles")?;
    let outputs = items(outputs, "outputs")?;
    if contexts.len() != outputs.len() || oracles.len() != outputs.len() {
        return Err(PyValueError::new_err(format!(
            "contexts, oracles and outputs must be equally long, one entry an output, not {}, {} \
             and {}; for one prompt repeat its dicts: [context] * len(outputs)",
            contexts.len(),
            oracles.len(),
            outputs.len()
        )));
    }
    let mut pairs: Vec<(Files, Files)> = Vec::new();
    // Outputs of one prompt come with the same dicts, or with equal ones behind each other.
    let mut known = BTreeMap::new();
    let mut samples = Vec::with_capacity(outputs.len());
    for (index, text) in outputs.iter().enumerate() {
        let (context, oracle) = (&contexts[index], &oracles[index]);
        let identity = (context.as_ptr() as usize, oracle.as_ptr() as usize);
        let pair = match known.get(&identity) {
            Some(&pair) => pair,
            None => {
                let pair = (
                    files(context, &format!("contexts[{index}]"))?,
                    files(oracle, &format!("oracles[{index}]"))?,
                );
                if pairs.last() != Some(&pair) {
                    pairs.push(pair);
                }
                known.insert(identity, pairs.len() - 1);
                pairs.len() - 1
            }
        };
        samples.push((pair, output(text, &format!("outputs[{index}]"))?));
    }
    let pool = pool::pool(py)?;
    let size = pairs.iter().map(|(context, oracle)| bytes(context) + bytes(oracle)).sum::<usize>()
        + samples.iter().map(|(_, output)| output.len()).sum::<usize>();
    heeding(py, size, |cancel| pool.install(|| score_samples(cancel, &pairs, &samples)))
}

fn score_samples(
    cancel: &Arc<AtomicBool>,
    pairs: &[(Files, Files)],
    samples: &[(usize, String)],
) -> Option<Vec<ScoreTuple>> {
    let targets: Vec<Target<'_>> = pairs
        .par_iter()
        .map(|(context, oracle)| {
            (!cancel.load(Ordering::Relaxed)).then(|| Target::new(context, oracle))
        })
        .collect::<Option<_>>()?;
    samples
        .par_iter()
        .map_init(Matcher::new, |matcher, (pair, output)| {
            let score = |matcher: &mut _| Scorer::new().score(matcher, &targets[*pair], output);
            matcher.unless(cancel, score).map(tuple)
        })
        .collect()
}

#[pyfunction]
#[pyo3(signature = (context, predicted, oracle, /))]
fn score_contents(
    py: Python<'_>,
    context: &Bound<'_, PyAny>,
    predicted: &Bound<'_, PyAny>,
    oracle: &Bound<'_, PyAny>,
) -> PyResult<ScoreTuple> {
    let context = files(context, "context")?;
    let predicted = files(predicted, "predicted")?;
    let oracle = files(oracle, "oracle")?;
    heeding(py, bytes(&context) + bytes(&predicted) + bytes(&oracle), |cancel| {
        Matcher::new().unless(cancel, |matcher| {
            tuple(Scorer::new().score_contents(matcher, &context, &predicted, &oracle))
        })
    })
}

#[pyfunction]
#[pyo3(signature = (predicted, oracle, /))]
fn score_unidiff(
    py: Python<'_>,
    predicted: &Bound<'_, PyAny>,
    oracle: &Bound<'_, PyAny>,
) -> PyResult<ScoreTuple> {
    let predicted = texts(predicted, "predicted")?;
    let oracle = texts(oracle, "oracle")?;
    let size = predicted.iter().chain(&oracle).map(String::len).sum();
    heeding(py, size, |cancel| {
        Matcher::new().unless(cancel, |matcher| {
            tuple(Scorer::new().score_unidiff(matcher, &predicted, &oracle))
        })
    })
}

/// difflib.SequenceMatcher(None, a, b, autojunk=False).ratio(), in [0, 1].
///
/// a is the prediction and b the oracle; the order matters. Two empty texts give 1.
#[pyfunction]
#[pyo3(signature = (a, b, /))]
fn ratio(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (a, b) = (bounded(a, "a")?, bounded(b, "b")?);
    heeding(py, a.len() + b.len(), |cancel| {
        Matcher::new().unless(cancel, |matcher| matcher.ratio(&a, &b))
    })
}

/// The patch from old to new that the reward compares; "" if no line differs.
///
/// As difflib.unified_diff writes it over str.splitlines(), three lines of context, without the
/// two file header lines, joined by LF.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
fn unified_patch(
    py: Python<'_>,
    old: &Bound<'_, PyAny>,
    new: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let (old, new) = (bounded(old, "old")?, bounded(new, "new")?);
    heeding(py, old.len() + new.len(), |cancel| {
        Matcher::new().unless(cancel, |matcher| unified_patch_with(matcher, &old, &new))
    })
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(score, module)?)?;
    module.add_function(wrap_pyfunction!(score_batch, module)?)?;
    module.add_function(wrap_pyfunction!(score_contents, module)?)?;
    module.add_function(wrap_pyfunction!(score_unidiff, module)?)?;
    module.add_function(wrap_pyfunction!(ratio, module)?)?;
    module.add_function(wrap_pyfunction!(unified_patch, module)?)?;
    Ok(())
}
