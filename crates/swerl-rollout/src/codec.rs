//! Text to token ids and back, as this crate needs it.
//!
//! Prompts and supervised answers are encoded once, before sampling or training; completions are
//! decoded once, after sampling. Nothing is decoded and encoded again.

/// A tokenizer. Implemented for [`swerl_model::Tokenizer`]; tests bring their own.
pub trait TextCodec: Send + Sync {
    /// The ids of `text`, without any added at its start or end.
    fn encode(&self, text: &str) -> Vec<u32>;

    /// The text of `ids`; ids that are not valid text together become replacement characters.
    fn decode(&self, ids: &[u32]) -> String;

    /// The id of a special token by its spelling. Texts never yield special tokens, whatever they
    /// spell: a pull request cannot end its prompt. Marks are placed by id.
    fn token_id(&self, token: &str) -> Option<u32>;
}

impl TextCodec for swerl_model::Tokenizer {
    fn encode(&self, text: &str) -> Vec<u32> {
        Self::encode(self, text)
    }

    fn decode(&self, ids: &[u32]) -> String {
        Self::decode(self, ids)
    }

    fn token_id(&self, token: &str) -> Option<u32> {
        Self::token_id(self, token)
    }
}

impl<C: TextCodec + ?Sized> TextCodec for &C {
    fn encode(&self, text: &str) -> Vec<u32> {
        (**self).encode(text)
    }

    fn decode(&self, ids: &[u32]) -> String {
        (**self).decode(ids)
    }

    fn token_id(&self, token: &str) -> Option<u32> {
        (**self).token_id(token)
    }
}

impl<C: TextCodec + ?Sized> TextCodec for std::sync::Arc<C> {
    fn encode(&self, text: &str) -> Vec<u32> {
        (**self).encode(text)
    }

    fn decode(&self, ids: &[u32]) -> String {
        (**self).decode(ids)
    }

    fn token_id(&self, token: &str) -> Option<u32> {
        (**self).token_id(token)
    }
}
