//! Where each token of a text begins, by the vocabulary of a `tokenizer.json`.
//!
//! A trace holds ids and text, not the borders between tokens. The vocabulary gives each id its bytes; when
//! these, put together, are the text to the byte, the borders are known, and else they are not: no
//! border is guessed. Read here: byte-level vocabularies (GPT-2, Llama 3, Qwen) and those with `▁` for a
//! space and `<0xNN>` for a byte (Llama 2).

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use super::error::ReportError;

/// The bytes of each token id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Vocabulary {
    pieces: BTreeMap<u32, Piece>,
}

#[derive(Debug, Clone, PartialEq)]
struct Piece {
    bytes: Vec<u8>,
    /// A marker like the end of text, which a decoded text may leave out.
    special: bool,
}

impl Vocabulary {
    /// Reads a `tokenizer.json`.
    pub(super) fn read(path: &Path) -> Result<Self, ReportError> {
        let bytes = fs::read(path).map_err(ReportError::read(path))?;
        let wrong = |reason: String| ReportError::Tokenizer { path: path.to_path_buf(), reason };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| wrong(format!("no JSON: {error}")))?;
        Self::of(&value).ok_or_else(|| wrong("it has no model.vocab".into()))
    }

    fn of(value: &Value) -> Option<Self> {
        let byte_level = [value.get("decoder"), value.get("pre_tokenizer")]
            .into_iter()
            .flatten()
            .any(mentions_byte_level);
        let mut pieces = BTreeMap::new();
        let mut put = |token: &str, id: u64| {
            let bytes = if byte_level { byte_level_bytes(token) } else { marked_bytes(token) };
            if let Ok(id) = u32::try_from(id) {
                pieces.insert(id, Piece { bytes, special: false });
            }
        };
        match value.get("model")?.get("vocab")? {
            Value::Object(vocab) => {
                for (token, id) in vocab {
                    put(token, id.as_u64()?);
                }
            }
            // Unigram: the id is the position.
            Value::Array(vocab) => {
                for (id, entry) in (0..).zip(vocab) {
                    put(entry.get(0)?.as_str()?, id);
                }
            }
            _ => return None,
        }
        let added = value.get("added_tokens").and_then(Value::as_array);
        for token in added.into_iter().flatten() {
            let id = u32::try_from(token.get("id")?.as_u64()?).ok()?;
            let bytes = token.get("content")?.as_str()?.as_bytes().to_vec();
            let special = token.get("special").and_then(Value::as_bool).unwrap_or(false);
            pieces.insert(id, Piece { bytes, special });
        }
        Some(Self { pieces })
    }

    /// UTF-16 units of `text` that each of `ids` covers, as a script counts them. A character made of several
    /// tokens belongs to the last of them. `None` when the ids do not spell the text.
    pub(super) fn borders(&self, ids: &[u32], text: &str) -> Option<Vec<u32>> {
        self.spell(ids, text, false).or_else(|| self.spell(ids, text, true))
    }

    fn spell(&self, ids: &[u32], text: &str, skip_special: bool) -> Option<Vec<u32>> {
        let mut ends = Vec::with_capacity(ids.len());
        let (bytes, mut end) = (text.as_bytes(), 0);
        for id in ids {
            let piece = self.pieces.get(id)?;
            if !(skip_special && piece.special) {
                // Llama 2 decodes without the space before the first word.
                let first = end == 0 && !bytes.starts_with(&piece.bytes);
                let spelled = match piece.bytes.strip_prefix(b" ") {
                    Some(rest) if first => rest,
                    _ => &piece.bytes,
                };
                if !bytes[end..].starts_with(spelled) {
                    return None;
                }
                end += spelled.len();
            }
            ends.push(end);
        }
        if end != bytes.len() {
            return None;
        }
        let mut start = 0;
        Some(
            ends.into_iter()
                .map(|end| {
                    let end = (start..=end).rev().find(|at| text.is_char_boundary(*at));
                    let end = end.unwrap_or(start);
                    let units = text[start..end].encode_utf16().count();
                    start = end;
                    u32::try_from(units).unwrap_or(u32::MAX)
                })
                .collect(),
        )
    }
}

fn mentions_byte_level(value: &Value) -> bool {
    match value {
        Value::String(text) => text == "ByteLevel",
        Value::Array(items) => items.iter().any(mentions_byte_level),
        Value::Object(fields) => fields.values().any(mentions_byte_level),
        _ => false,
    }
}

/// GPT-2 writes a byte as a printable character: itself where it is one, else one from U+0100 on.
fn byte_level_bytes(token: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(token.len());
    for c in token.chars() {
        match u32::from(c) {
            code @ (0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) => out.push(code as u8),
            code @ 0x100..=0x120 => out.push((code - 0x100) as u8),
            code @ 0x121..=0x142 => out.push((code - 0x121 + 0x7f) as u8),
            0x143 => out.push(0xad),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// SentencePiece: `▁` is a space, `<0xNN>` a byte.
fn marked_bytes(token: &str) -> Vec<u8> {
    let byte = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
        Some(byte) => vec![byte],
        None => token.replace('\u{2581}', " ").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(tokenizer: &Value, ids: &[u32], text: &str, expected: Option<&[u32]>) {
        let vocabulary = Vocabulary::of(tokenizer).unwrap();
        assert_eq!(vocabulary.borders(ids, text).as_deref(), expected, "{ids:?} {text:?}");
    }

    #[test]
    fn byte_level_pieces_spell_the_text() {
        let tokenizer = json!({
            "decoder": {"type": "ByteLevel"},
            "added_tokens": [{"id": 9, "content": "<|end|>", "special": true}],
            "model": {"vocab": {"a": 0, "Ġb": 1, "Ċ": 2, "Ã": 3, "©": 4, "ðŁĺĢ": 5}}
        });
        check(&tokenizer, &[0, 1, 2], "a b\n", Some(&[1, 2, 1]));
        // The two bytes of é are two tokens; an emoji is two UTF-16 units.
        check(&tokenizer, &[3, 4, 5], "é😀", Some(&[0, 1, 2]));
        check(&tokenizer, &[0, 9], "a", Some(&[1, 0]));
        check(&tokenizer, &[0, 9], "a<|end|>", Some(&[1, 7]));
        for (ids, text) in [(&[0, 1][..], "a c"), (&[0], "ab"), (&[0, 7], "a"), (&[3], "\u{fffd}")]
        {
            check(&tokenizer, ids, text, None);
        }
        check(&tokenizer, &[], "", Some(&[]));
    }

    #[test]
    fn every_byte_has_its_character() {
        let mut seen: Vec<u8> = Vec::new();
        let printable = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        let mut next = 0x100;
        for byte in 0..256 {
            let code = if printable(byte) { byte } else { next };
            next += u32::from(!printable(byte));
            seen.extend(byte_level_bytes(&char::from_u32(code).unwrap().to_string()));
        }
        assert_eq!(seen, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn marked_pieces_spell_the_text() {
        let tokenizer = json!({
            "model": {"vocab": [["<unk>", 0.0], ["▁a", -1.0], ["▁b", -1.0], ["<0x0A>", 0.0]]}
        });
        check(&tokenizer, &[1, 2, 3], "a b\n", Some(&[1, 2, 1]));
        check(&tokenizer, &[1, 2], " a b", Some(&[2, 2]));
        check(&tokenizer, &[1, 2], "a  b", None);
    }
}
