//! Building batches: groups become rows with a shared prompt, sequences become packed rows.
//!
//! Sample numbers follow the order of the input; each sample's targets are its policy tokens in
//! order. A completion's last token is kept in its row although its hidden state predicts
//! nothing: a completion of one token stays a segment, and rows keep their text whole.

use super::{BatchError, Row, Segment, Target, TokenBatch};
use crate::sequence::{Group, Sequence};

/// One sequence of one group: an entry of a list from which a batch is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Index of the group.
    pub group: usize,
    /// Index of the sequence in that group.
    pub sequence: usize,
}

impl TokenBatch {
    /// One row per group, every sequence a sample: the prompt, then each completion as its child.
    ///
    /// # Errors
    /// [`BatchError`] when a group is malformed ([`Group::validate`]) or `temperature` is not
    /// above 0 and finite.
    pub fn from_groups(groups: &[Group], temperature: f32) -> Result<Self, BatchError> {
        let members: Vec<Member> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, content)| {
                (0..content.sequences.len()).map(move |sequence| Member { group, sequence })
            })
            .collect();
        Self::from_members(groups, &members, temperature)
    }

    /// A batch of some members; sample `i` is `members[i]`. Neighbours of one group share a row.
    ///
    /// # Errors
    /// As [`TokenBatch::from_groups`], and when a member does not exist.
    pub fn from_members(
        groups: &[Group],
        members: &[Member],
        temperature: f32,
    ) -> Result<Self, BatchError> {
        check_temperature(temperature)?;
        let mut batch =
            Self { rows: Vec::new(), targets: Vec::new(), temperature, samples: members.len() };
        let mut sample = 0;
        for run in members.chunk_by(|a, b| a.group == b.group) {
            let index = run[0].group;
            let missing = |sequence| BatchError::Member { group: index, sequence };
            let group = groups.get(index).ok_or_else(|| missing(run[0].sequence))?;
            group.validate()?;
            let mut row = RowBuilder::new(batch.rows.len());
            let prompt = row.push(&group.sequences[0].tokens[..group.prompt_len], None);
            for member in run {
                let sequence =
                    group.sequences.get(member.sequence).ok_or_else(|| missing(member.sequence))?;
                let segment = row.push(&sequence.tokens[group.prompt_len..], Some(prompt));
                row.targets(sequence, group.prompt_len, segment, sample, &mut batch.targets);
                sample += 1;
            }
            batch.rows.push(row.row);
        }
        Ok(batch)
    }

    /// Sequences side by side; sample `i` is `sequences[i]`.
    ///
    /// `row_tokens` packs neighbours into a row as long as it holds at most that many tokens;
    /// `None` gives each its own row. A longer sequence has a row of its own.
    ///
    /// # Errors
    /// [`BatchError`] when a sequence is malformed ([`Sequence::validate`]; the error's name is
    /// `sequences`) or `temperature` is not above 0 and finite.
    pub fn from_sequences<S: std::borrow::Borrow<Sequence>>(
        sequences: &[S],
        row_tokens: Option<usize>,
        temperature: f32,
    ) -> Result<Self, BatchError> {
        check_temperature(temperature)?;
        let mut batch =
            Self { rows: Vec::new(), targets: Vec::new(), temperature, samples: sequences.len() };
        let mut row = RowBuilder::new(0);
        for (sample, sequence) in sequences.iter().enumerate() {
            let sequence = sequence.borrow();
            sequence.validate("sequences", sample)?;
            let used = row.row.tokens.len();
            let fits = row_tokens.is_some_and(|most| used + sequence.tokens.len() <= most);
            if used > 0 && !fits {
                batch.rows.push(row.row);
                row = RowBuilder::new(batch.rows.len());
            }
            let segment = row.push(&sequence.tokens, None);
            row.targets(sequence, 0, segment, sample, &mut batch.targets);
        }
        if !row.row.tokens.is_empty() {
            batch.rows.push(row.row);
        }
        Ok(batch)
    }
}

fn check_temperature(value: f32) -> Result<(), BatchError> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(BatchError::Temperature { value }) }
}

/// Index as u32: a row of four billion tokens fits no memory.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("rows, targets and samples number fewer than u32::MAX")
}

struct RowBuilder {
    number: usize,
    row: Row,
}

impl RowBuilder {
    fn new(number: usize) -> Self {
        let row = Row { tokens: Vec::new(), positions: Vec::new(), segments: Vec::new() };
        Self { number, row }
    }

    /// Appends a segment, positions continuing after its parent's; returns its index.
    fn push(&mut self, tokens: &[u32], parent: Option<usize>) -> usize {
        let first = parent.map_or(0, |index| {
            let above = self.row.segments[index];
            self.row.positions[above.start + above.len - 1] + 1
        });
        self.row.segments.push(Segment { start: self.row.tokens.len(), len: tokens.len(), parent });
        self.row.tokens.extend_from_slice(tokens);
        let positions = (0..tokens.len()).map(|offset| first + narrow(offset));
        self.row.positions.extend(positions);
        self.row.segments.len() - 1
    }

    /// Appends the targets of `sequence`, whose tokens from `skip` on are `segment`.
    fn targets(
        &self,
        sequence: &Sequence,
        skip: usize,
        segment: usize,
        sample: usize,
        targets: &mut Vec<Target>,
    ) {
        let segment = self.row.segments[segment];
        let made = sequence.policy_mask.iter().enumerate().skip(skip);
        for (token, _) in made.filter(|&(_, &made)| made) {
            let index = if token > skip {
                segment.start + token - skip - 1
            } else {
                let parent = segment.parent.expect("validated: the first token is not a target");
                let above = self.row.segments[parent];
                above.start + above.len - 1
            };
            targets.push(Target {
                row: narrow(self.number),
                index: narrow(index),
                token: sequence.tokens[token],
                sample: narrow(sample),
            });
        }
    }
}
