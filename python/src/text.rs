//! Python strings as Rust strings, with a rule for what UTF-8 cannot hold.
//!
//! A Python string may contain lone surrogates (U+D800 to U+DFFF), which no Rust string can. Each
//! becomes one U+FFFD, wherever the string came from: nothing is refused, every other code point
//! stays as it is, and the length in code points does not change.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The text of a string. Fails only when memory ends.
pub(crate) fn text(string: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = string.to_cow() {
        return Ok(text.into_owned());
    }
    // `str.encode` itself, so that a subclass cannot answer in its place.
    let encoded = string
        .py()
        .get_type::<PyString>()
        .call_method1("encode", (string, "utf-8", "surrogatepass"))?
        .cast_into::<PyBytes>()?;
    let mut bytes = encoded.as_bytes().to_vec();
    replace_surrogates(&mut bytes);
    Ok(String::from_utf8(bytes)?)
}

/// A surrogate is ED A0..BF 80..BF, U+FFFD is EF BF BD: as long, so it is replaced in place. ED is never
/// a continuation, so it always begins a character.
fn replace_surrogates(bytes: &mut [u8]) {
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
}
