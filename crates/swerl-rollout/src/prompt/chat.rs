//! Messages of a conversation, and the marks that a chat model expects around them.
//!
//! Marks are special tokens, placed by id and not by spelling, so that a text which spells one
//! stays text. Only the marks of well-known families are here; a model's own template file is not
//! read.

use crate::codec::TextCodec;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The rules of the conversation.
    System,
    /// The task.
    User,
}

impl Role {
    /// The name that chat models and servers use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A special token, by its spelling.
    Mark(String),
    /// Text, whatever it spells.
    Text(String),
}

impl Piece {
    /// The text of all `pieces`, for readers.
    #[must_use]
    pub fn text(pieces: &[Self]) -> String {
        pieces.iter().map(|(Self::Mark(text) | Self::Text(text))| text.as_str()).collect()
    }

    /// The ids of all `pieces`. Texts that follow each other are encoded as one. A mark that the
    /// tokenizer lacks is encoded as text.
    pub fn encode(pieces: &[Self], codec: &impl TextCodec) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Self::Mark(mark) => match codec.token_id(mark) {
                    Some(id) => {
                        ids.extend(codec.encode(&text));
                        text.clear();
                        ids.push(id);
                    }
                    None => text.push_str(mark),
                },
                Self::Text(more) => text.push_str(more),
            }
        }
        ids.extend(codec.encode(&text));
        ids
    }
}

/// A tokenizer without the marks that were chosen: they belong to another model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tokenizer has no token {mark:?}; choose the chat marks of its own model")]
pub struct UnknownMark {
    /// The first mark that is missing.
    pub mark: String,
}

/// The marks around turns: `begin`, then `start role between content end` for each turn, then
/// `start role between` for the assistant's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMarkup {
    /// Before the first turn.
    pub begin: Vec<Piece>,
    /// Before a turn's role.
    pub start: Vec<Piece>,
    /// Between role and content.
    pub between: Vec<Piece>,
    /// After a turn's content.
    pub end: Vec<Piece>,
    /// Whether the role's name is written.
    pub names: bool,
}

impl ChatMarkup {
    /// No marks: turns are paragraphs. For base models.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            begin: Vec::new(),
            start: Vec::new(),
            between: Vec::new(),
            end: vec![text("\n\n")],
            names: false,
        }
    }

    /// Llama 3 and later.
    #[must_use]
    pub fn llama3() -> Self {
        Self {
            begin: vec![mark("<|begin_of_text|>")],
            start: vec![mark("<|start_header_id|>")],
            between: vec![mark("<|end_header_id|>"), text("\n\n")],
            end: vec![mark("<|eot_id|>")],
            names: true,
        }
    }

    /// ChatML: Qwen, SmolLM2 and many others.
    #[must_use]
    pub fn chat_ml() -> Self {
        Self {
            begin: Vec::new(),
            start: vec![mark("<|im_start|>")],
            between: vec![text("\n")],
            end: vec![mark("<|im_end|>"), text("\n")],
            names: true,
        }
    }

    /// The pieces of `messages`, open for the assistant's answer.
    #[must_use]
    pub fn pieces(&self, messages: &[Message]) -> Vec<Piece> {
        let mut pieces = self.begin.clone();
        let open = |pieces: &mut Vec<Piece>, name: &str| {
            pieces.extend_from_slice(&self.start);
            if self.names {
                pieces.push(text(name));
            }
            pieces.extend_from_slice(&self.between);
        };
        for message in messages {
            open(&mut pieces, message.role.name());
            pieces.push(text(&message.content));
            pieces.extend_from_slice(&self.end);
        }
        open(&mut pieces, "assistant");
        pieces
    }

    /// Checks that `codec` has every mark.
    ///
    /// # Errors
    /// [`UnknownMark`].
    pub fn check(&self, codec: &impl TextCodec) -> Result<(), UnknownMark> {
        for piece in [&self.begin, &self.start, &self.between, &self.end].into_iter().flatten() {
            if let Piece::Mark(mark) = piece
                && codec.token_id(mark).is_none()
            {
                return Err(UnknownMark { mark: mark.clone() });
            }
        }
        Ok(())
    }
}

fn mark(spelling: &str) -> Piece {
    Piece::Mark(spelling.to_owned())
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes, and the marks of ChatML from 256 on.
    struct Bytes;

    impl TextCodec for Bytes {
        fn encode(&self, text: &str) -> Vec<u32> {
            text.bytes().map(u32::from).collect()
        }

        fn decode(&self, _: &[u32]) -> String {
            unreachable!("nothing is decoded")
        }

        fn token_id(&self, token: &str) -> Option<u32> {
            (256..)
                .zip(["<|im_start|>", "<|im_end|>"])
                .find(|(_, mark)| *mark == token)
                .map(|(id, _)| id)
        }
    }

    fn messages() -> [Message; 2] {
        let message = |role, content: &str| Message { role, content: content.to_owned() };
        [message(Role::System, "Rules."), message(Role::User, "Task <|im_end|>.")]
    }

    #[track_caller]
    fn check(markup: &ChatMarkup, expected: &str) {
        assert_eq!(Piece::text(&markup.pieces(&messages())), expected);
    }

    #[test]
    fn known_families() {
        check(&ChatMarkup::plain(), "Rules.\n\nTask <|im_end|>.\n\n");
        check(
            &ChatMarkup::chat_ml(),
            "<|im_start|>system\nRules.<|im_end|>\n<|im_start|>user\nTask <|im_end|>.<|im_end|>\n\
             <|im_start|>assistant\n",
        );
        check(
            &ChatMarkup::llama3(),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nRules.<|eot_id|>\
             <|start_header_id|>user<|end_header_id|>\n\nTask <|im_end|>.<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\n",
        );
    }

    #[test]
    fn marks_are_placed_by_id_and_texts_stay_texts() {
        let ids = Piece::encode(&ChatMarkup::chat_ml().pieces(&messages()), &Bytes);
        let count = |wanted: u32| ids.iter().filter(|&&id| id == wanted).count();
        assert_eq!((count(256), count(257)), (3, 2));
        assert_eq!(ids[1..8], "system\n".bytes().map(u32::from).collect::<Vec<_>>());
    }

    #[test]
    fn marks_of_another_model_are_named() {
        assert_eq!(ChatMarkup::chat_ml().check(&Bytes), Ok(()));
        let error = ChatMarkup::llama3().check(&Bytes).expect_err("no llama marks here");
        assert!(error.to_string().contains("<|begin_of_text|>"), "{error}");
    }
}
