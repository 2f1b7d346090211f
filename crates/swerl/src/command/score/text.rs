//! Strings as models and old files have them: what is not Unicode in a string counts as U+FFFD.
//!
//! Python's `json.dumps` writes a lone surrogate as `\ud800`, and a cut of bytes can end inside a
//! character. Such an output is scored like any other, not refused. A surrogate is one U+FFFD, as in
//! the Python package.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de};

/// A string of a row.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(pub(crate) String);

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Path to text, as the reward takes it. Of a path that is there twice the last text counts.
pub(crate) fn files(files: BTreeMap<Text, Text>) -> BTreeMap<String, String> {
    files.into_iter().map(|(path, text)| (path.0, text.0)).collect()
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Asked for bytes, serde_json gives a string unchecked, surrogates as three bytes each.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl de::Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
        Ok(Text(lossy(bytes)))
    }
}

fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        text.push_str(chunk.valid());
        rest = &rest[chunk.valid().len()..];
        if rest.is_empty() {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        let surrogate = matches!(rest, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]);
        rest = &rest[if surrogate { 3 } else { chunk.invalid().len() }..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &[u8], expected: &str) {
        assert_eq!(serde_json::from_slice::<Text>(json).unwrap().0, expected);
    }

    #[test]
    fn what_is_not_unicode() {
        check(b"\"\"", "");
        check(b"\"a\\u00e9\\ud83d\\ude00\xc3\xa9\"", "a\u{e9}\u{1f600}\u{e9}");
        check(b"\"a\\ud800b\"", "a\u{fffd}b");
        check(b"\"\\ude00\\ud83d\"", "\u{fffd}\u{fffd}");
        check(b"\"a\xff\xe2\x82b\xe2\"", "a\u{fffd}\u{fffd}b\u{fffd}");
        let error = serde_json::from_str::<Text>("1").unwrap_err().to_string();
        assert!(error.contains("expected a string"), "{error}");
    }
}
