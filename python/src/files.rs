//! Arguments: dicts of path to text, and lists of texts, with errors that say what to do.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::text::text;

/// Longest text in bytes: the matcher counts code points up to 2^31.
const MAX_BYTES: usize = i32::MAX as usize;

/// Path to text.
pub(crate) type Files = BTreeMap<String, String>;

/// Reads a dict of path to text; `what` names the argument in errors.
pub(crate) fn files(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Files> {
    let Ok(dict) = value.cast::<PyDict>() else {
        return Err(PyTypeError::new_err(format!(
            "{what} must be a dict of path to text, not {}",
            type_name(value)
        )));
    };
    let mut files = Files::new();
    for (path, content) in dict.iter() {
        let Ok(path) = path.cast_into::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "{what}: every key must be a path of type str; convert others with str()"
            )));
        };
        let path = text(&path)?;
        let content = bounded(&content, &format!("{what}[{path:?}]"))?;
        // Paths that differ in lone surrogates alone are one path; the later text counts.
        files.insert(path, content);
    }
    Ok(files)
}

/// Bytes of all texts.
pub(crate) fn bytes(files: &Files) -> usize {
    files.values().map(String::len).sum()
}

/// Reads a list or tuple of strings.
pub(crate) fn texts(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<String>> {
    items(value, what)?
        .iter()
        .enumerate()
        .map(|(index, item)| output(item, &format!("{what}[{index}]")))
        .collect()
}

/// Reads what a model wrote, of any length.
pub(crate) fn output(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    text(string(value, what)?)
}

/// Reads a text of the caller's, no longer than can be compared.
pub(crate) fn bounded(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    let text = text(string(value, what)?)?;
    if text.len() > MAX_BYTES {
        return Err(PyValueError::new_err(format!(
            "{what} has {} bytes; at most {MAX_BYTES} can be compared: leave the file out",
            text.len()
        )));
    }
    Ok(text)
}

fn string<'a, 'py>(value: &'a Bound<'py, PyAny>, what: &str) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| {
        PyTypeError::new_err(format!(
            "{what} must be a str, not {}; {}",
            type_name(value),
            remedy(value)
        ))
    })
}

/// The items of a list or tuple.
pub(crate) fn items<'py>(
    value: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = value.cast::<PyList>() {
        Ok(list.iter().collect())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        Ok(tuple.iter().collect())
    } else {
        Err(PyTypeError::new_err(format!(
            "{what} must be a list or tuple, not {}: convert it with list()",
            type_name(value)
        )))
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string())
}

fn remedy(value: &Bound<'_, PyAny>) -> &'static str {
    if value.is_none() {
        "leave the entry out"
    } else if value.is_instance_of::<pyo3::types::PyBytes>() {
        "decode it first, for example with .decode(\"utf-8\", \"replace\")"
    } else {
        "pass the text itself"
    }
}
