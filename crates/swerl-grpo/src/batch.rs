//! Token batches: rows made of segments in a forest, and the targets to score in them.
//!
//! A [`Row`] is one run of tokens, cut into [`Segment`]s. A token sees the earlier tokens of its
//! own segment, itself, and all tokens of its segment's ancestors; nothing else. So
//! * a plain sequence is one segment without parent,
//! * several sequences packed in a row are several segments without parent, and
//! * a group is ONE row: the prompt as a segment without parent and each completion as its child.
//!   The prompt is computed once for all of its completions.
//!
//! Positions are carried, not inferred: a completion's positions continue after its prompt's. A
//! [`Target`] names the hidden state that predicts it, because the first token of each completion
//! is predicted by the prompt's last hidden state. Rows are ragged; padding is the policy's affair.

mod build;
mod pack;

pub use build::Member;
pub use pack::{Piece, split_by_budget};

/// A run of tokens in a row that attends to itself (causally) and to its ancestors (fully).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Index of its first token in the row.
    pub start: usize,
    /// Number of tokens, at least 1.
    pub len: usize,
    /// Index, in [`Row::segments`], of the segment that it continues. Always an earlier one.
    pub parent: Option<usize>,
}

/// Tokens that are computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Token ids.
    pub tokens: Vec<u32>,
    /// Position of each token in its own sequence, from 0. As long as `tokens`.
    pub positions: Vec<u32>,
    /// The segments, in order and without gaps: they cover `tokens`.
    pub segments: Vec<Segment>,
}

impl Row {
    /// A row with one sequence.
    ///
    /// # Panics
    /// If `tokens` is empty or longer than `u32::MAX`.
    #[must_use]
    pub fn plain(tokens: Vec<u32>) -> Self {
        assert!(!tokens.is_empty(), "a row holds at least one token");
        let len = u32::try_from(tokens.len()).expect("a row is shorter than u32::MAX tokens");
        let segments = vec![Segment { start: 0, len: tokens.len(), parent: None }];
        Self { tokens, positions: (0..len).collect(), segments }
    }

    /// Whether the token at `query` sees the token at `key`.
    ///
    /// The definition, not the fast way: it walks the forest for one pair.
    ///
    /// # Panics
    /// If an index lies outside the row.
    #[must_use]
    pub fn sees(&self, query: usize, key: usize) -> bool {
        let segment_of = |index: usize| {
            self.segments
                .iter()
                .position(|s| (s.start..s.start + s.len).contains(&index))
                .expect("segments cover the row")
        };
        let (own, other) = (segment_of(query), segment_of(key));
        if own == other {
            return key <= query;
        }
        let mut ancestor = self.segments[own].parent;
        while let Some(index) = ancestor {
            if index == other {
                return true;
            }
            ancestor = self.segments[index].parent;
        }
        false
    }
}

/// A token whose log-probability is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Index of its row in [`TokenBatch::rows`].
    pub row: u32,
    /// Index, in that row, of the hidden state that predicts it.
    pub index: u32,
    /// The token predicted.
    pub token: u32,
    /// Number of the sample it belongs to, from 0, below [`TokenBatch::samples`].
    pub sample: u32,
}

/// Rows to compute and the tokens to score in them.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBatch {
    /// The rows.
    pub rows: Vec<Row>,
    /// The targets, by sample and then in the order of the sequence. A sample's targets are
    /// neighbours.
    pub targets: Vec<Target>,
    /// Logits are divided by this before the softmax; above 0, 1.0 for the model's own.
    pub temperature: f32,
    /// Number of samples.
    pub samples: usize,
}

impl TokenBatch {
    /// Number of tokens in all rows: what a forward without padding computes.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens.len()).sum()
    }

    /// Length of the longest row, 0 without rows.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        self.rows.iter().map(|row| row.tokens.len()).max().unwrap_or(0)
    }

    /// Checks the forest, the lengths and that each target lies in the batch. For policies that
    /// take batches from elsewhere; the constructors here make none that fails.
    ///
    /// # Errors
    /// [`BatchError`], naming row or target.
    pub fn validate(&self) -> Result<(), BatchError> {
        if !(self.temperature.is_finite() && self.temperature > 0.0) {
            return Err(BatchError::Temperature { value: self.temperature });
        }
        for (row, content) in self.rows.iter().enumerate() {
            let malformed = |what| BatchError::Row { row, what };
            if content.positions.len() != content.tokens.len() {
                return Err(malformed("positions and tokens differ in length"));
            }
            let mut next = 0;
            for (index, segment) in content.segments.iter().enumerate() {
                if segment.start != next || segment.len == 0 {
                    return Err(malformed("segments leave a gap, overlap or are empty"));
                }
                if segment.parent.is_some_and(|parent| parent >= index) {
                    return Err(malformed("a segment comes before its parent"));
                }
                next += segment.len;
            }
            if next != content.tokens.len() || next == 0 {
                return Err(malformed("segments do not cover the row"));
            }
        }
        for (target, content) in self.targets.iter().enumerate() {
            let inside = self
                .rows
                .get(content.row as usize)
                .is_some_and(|row| (content.index as usize) < row.tokens.len());
            if !inside || content.sample as usize >= self.samples {
                return Err(BatchError::Target { target });
            }
        }
        Ok(())
    }
}

/// What is wrong with a group, a sequence or a batch.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A per-token list is not as long as the tokens.
    #[error("{id}, sequence {member}: {what} has {found} entries for {expected} tokens")]
    Length {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
        /// The list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of tokens.
        expected: usize,
    },
    /// The first token is marked as the policy's: nothing predicts it.
    #[error(
        "{id}, sequence {member}: its first token is marked as the policy's, but nothing precedes it; start with a prompt of at least one token"
    )]
    FirstTokenTrained {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
    },
    /// No token is the policy's.
    #[error("{id}, sequence {member}: no token is marked as the policy's")]
    NothingToTrain {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
    },
    /// Rewards and sequences differ in number.
    #[error("{id}: {rewards} rewards for {sequences} sequences")]
    Rewards {
        /// The group's name.
        id: String,
        /// Number of rewards.
        rewards: usize,
        /// Number of sequences.
        sequences: usize,
    },
    /// A group without sequences.
    #[error("{id}: a group without sequences")]
    EmptyGroup {
        /// The group's name.
        id: String,
    },
    /// A sequence does not start with the group's prompt.
    #[error(
        "{id}, sequence {member}: it does not start with the group's prompt of {prompt_len} tokens"
    )]
    Prompt {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
        /// Length of the prompt.
        prompt_len: usize,
    },
    /// A prompt token is marked as the policy's.
    #[error("{id}, sequence {member}: a prompt token is marked as the policy's")]
    PromptTrained {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
    },
    /// A reward is infinite or not a number.
    #[error(
        "{id}, sequence {member}: the reward is {value}; pass None for what could not be judged"
    )]
    Reward {
        /// The group's name.
        id: String,
        /// Index of the sequence.
        member: usize,
        /// The reward.
        value: f64,
    },
    /// A member names a group or sequence that does not exist.
    #[error("no sequence {sequence} in group {group}")]
    Member {
        /// Index of the group.
        group: usize,
        /// Index of the sequence in it.
        sequence: usize,
    },
    /// A temperature of 0, below, infinite or not a number.
    #[error("the temperature is {value}; it must be above 0 and finite")]
    Temperature {
        /// The temperature.
        value: f32,
    },
    /// A row breaks the rules of [`Row`].
    #[error("row {row}: {what}")]
    Row {
        /// Index of the row.
        row: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A target lies outside the batch.
    #[error("target {target} points outside the batch")]
    Target {
        /// Index of the target.
        target: usize,
    },
}
