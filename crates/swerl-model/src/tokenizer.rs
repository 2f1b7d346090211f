//! Tokenizers from `tokenizer.json`, and training of a byte-level BPE.
//!
//! Text is always text: a special token's spelling inside an encoded text becomes ordinary
//! tokens, so a pull request cannot end a prompt. Special tokens are placed by id.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer as Inner};

use crate::error::ModelError;

/// Words with one leading space or underscore, newlines with their indentation, single digits,
/// and runs of punctuation: pieces that make copying code cheap, one token each once learnt.
pub const CODE_PATTERN: &str = r"\n+ *| ?_?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}_]+|_| +|\s";

/// A tokenizer with its end-of-text ids.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: Inner,
    eos: Vec<u32>,
}

#[derive(Deserialize)]
struct EosOnly {
    eos_token_id: Option<Eos>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Eos {
    One(u32),
    Many(Vec<u32>),
}

impl Tokenizer {
    /// Reads `tokenizer.json` of a Hugging Face folder; the end-of-text ids come from
    /// `generation_config.json` where present, else from `config.json`.
    ///
    /// # Errors
    /// A file is missing or malformed, or neither names an end-of-text id.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ModelError::Read { path: path.clone(), source })?;
        let mut eos = Vec::new();
        for name in ["generation_config.json", "config.json"] {
            let path = folder.join(name);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let config: EosOnly =
                serde_json::from_str(&text).map_err(|source| ModelError::Json { path, source })?;
            eos = match config.eos_token_id {
                Some(Eos::One(id)) => vec![id],
                Some(Eos::Many(ids)) => ids,
                None => continue,
            };
            break;
        }
        if eos.is_empty() {
            let reason = "no eos_token_id in generation_config.json or config.json".to_owned();
            return Err(ModelError::Tokenizer { path, reason });
        }
        Self::from_json(&text, eos, &path)
    }

    /// A tokenizer from the text of a `tokenizer.json`; `path` is for messages.
    ///
    /// # Errors
    /// The text is not a tokenizer.
    pub fn from_json(json: &str, eos: Vec<u32>, path: &Path) -> Result<Self, ModelError> {
        let mut inner: Inner = json.parse().map_err(|e| refused(path, &e))?;
        inner.set_encode_special_tokens(true);
        Ok(Self { inner, eos })
    }

    /// Trains a byte-level BPE of `vocab_size` entries on `texts`, split by [`CODE_PATTERN`].
    /// `specials` get the first ids, in order; the first of them is the end of text.
    ///
    /// # Errors
    /// The library refuses.
    ///
    /// # Panics
    /// If `specials` is empty.
    pub fn train<'a>(
        texts: impl Iterator<Item = &'a str> + Send,
        vocab_size: usize,
        specials: &[&str],
    ) -> Result<Self, ModelError> {
        assert!(!specials.is_empty(), "the first special token ends a text");
        let nowhere = PathBuf::from("(in training)");
        let split = Split::new(
            SplitPattern::Regex(CODE_PATTERN.to_owned()),
            SplitDelimiterBehavior::Isolated,
            false,
        )
        .map_err(|e| refused(&nowhere, &e))?;
        let bytes = ByteLevel::new(false, true, false);
        let mut inner = Inner::new(BPE::default());
        inner.with_pre_tokenizer(Some(Sequence::new(vec![split.into(), bytes.into()])));
        inner.with_decoder(Some(bytes));
        let specials: Vec<AddedToken> =
            specials.iter().map(|s| AddedToken::from(*s, true).normalized(false)).collect();
        let mut trainer: TrainerWrapper = BpeTrainer::builder()
            .vocab_size(vocab_size)
            .show_progress(false)
            .special_tokens(specials)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build()
            .into();
        inner.train(&mut trainer, texts).map_err(|e| refused(&nowhere, &e))?;
        inner.set_encode_special_tokens(true);
        Ok(Self { inner, eos: vec![0] })
    }

    /// The token ids of `text`; special tokens spelt in it are text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let encoding = self.inner.encode_fast(text, false);
        encoding.expect("a byte-level tokenizer encodes any text").get_ids().to_vec()
    }

    /// The text of `ids`, special tokens left out; invalid UTF-8 becomes U+FFFD, ids outside the
    /// vocabulary are skipped.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, true).unwrap_or_default()
    }

    /// The id of a token by its spelling in the vocabulary.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The spelling of a token.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The control tokens: spelling and id, in ascending order of ids.
    pub fn special_tokens(&self) -> Vec<(String, u32)> {
        let added = self.inner.get_added_tokens_decoder();
        let mut all: Vec<(String, u32)> = added
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(&id, token)| (token.content.clone(), id))
            .collect();
        all.sort_by_key(|(_, id)| *id);
        all
    }

    /// Decodes token by token: text comes out as soon as its bytes are whole characters.
    pub fn stream(&self) -> TextStream<'_> {
        TextStream { tokenizer: self, ids: Vec::new(), given: 0 }
    }

    /// Ids that end a text; the first is the one to append in training.
    pub fn eos_ids(&self) -> &[u32] {
        &self.eos
    }

    /// Entries of the vocabulary, added tokens included.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// The `tokenizer.json` of this tokenizer.
    ///
    /// # Errors
    /// The library refuses to write it.
    pub fn to_json(&self) -> Result<String, ModelError> {
        self.inner.to_string(true).map_err(|e| refused(Path::new("(in memory)"), &e))
    }
}

/// Text of a growing sequence of ids; see [`Tokenizer::stream`].
#[derive(Debug)]
pub struct TextStream<'t> {
    tokenizer: &'t Tokenizer,
    /// Ids whose text was given out, as far as the next ones may lean on them, then those waiting.
    ids: Vec<u32>,
    /// Number of the former.
    given: usize,
}

impl TextStream<'_> {
    /// The text that `id` completes; empty while a character lacks bytes.
    ///
    /// The pieces of all ids and of [`TextStream::finish`] are together [`Tokenizer::decode`] of them.
    pub fn push(&mut self, id: u32) -> String {
        self.ids.push(id);
        let text = self.waiting();
        if text.is_empty() || text.ends_with(char::REPLACEMENT_CHARACTER) {
            return String::new();
        }
        self.ids.drain(..self.given);
        self.given = self.ids.len();
        text
    }

    /// What is left when no more ids come: bytes that never became a character, as U+FFFD.
    pub fn finish(self) -> String {
        self.waiting()
    }

    fn waiting(&self) -> String {
        let before = self.tokenizer.decode(&self.ids[..self.given]);
        let all = self.tokenizer.decode(&self.ids);
        all.get(before.len()..).unwrap_or_default().to_owned()
    }
}

fn refused(path: &Path, error: &tokenizers::Error) -> ModelError {
    ModelError::Tokenizer { path: path.to_owned(), reason: error.to_string() }
}
