//! From a seed example to a prompt: text, then token ids, within a budget.
//!
//! Whole files or none: a file that would pass the token budget is left out and counted, never
//! cut. Files that the merged change edits are tried first, then the others, each in its order;
//! if none fits, the first alone is shown and the prompt is marked as over budget. The files kept
//! are shown in the order given, or in one shuffled by counters, so that their place says nothing
//! about their role.

mod chat;
#[cfg(feature = "jinja")]
mod file;
mod template;

pub use chat::{ChatMarkup, Message, Piece, Role, UnknownMark};
#[cfg(feature = "jinja")]
pub use file::{FileTemplate, TemplateError};
pub use template::Template;

use rayon::prelude::*;
use swerl_data::{ContextFile, FileRole, SeedExample};

use crate::codec::TextCodec;
use crate::noise::NoiseKey;

/// What a policy is asked to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Name of the seed, for messages.
    pub id: String,
    /// The whole text, markup included.
    pub text: String,
    /// The text's token ids.
    pub ids: Vec<u32>,
    /// The turns that the text is made of, without marks; empty for templates without turns. For
    /// engines that take messages.
    pub messages: Vec<Message>,
    /// Paths of the files shown, in the order shown.
    pub files: Vec<String>,
    /// Paths of the files left out for lack of room.
    pub skipped: Vec<String>,
    /// Whether it is longer than the budget, because no file fitted.
    pub over_budget: bool,
}

/// Builds prompts with one template, one tokenizer and one budget.
#[derive(Debug, Clone)]
pub struct PromptBuilder<C> {
    codec: C,
    template: Source,
    markup: ChatMarkup,
    max_tokens: usize,
}

/// Where the words of prompts come from.
#[derive(Debug, Clone)]
enum Source {
    BuiltIn(Template),
    #[cfg(feature = "jinja")]
    File(FileTemplate),
}

/// A prompt in the making: its text and ids, and the turns that it is made of.
type Rendered = (String, Vec<u32>, Vec<Message>);

impl<C: TextCodec> PromptBuilder<C> {
    /// `max_tokens` is the budget of a whole prompt in tokens, markup included.
    pub fn new(codec: C, template: Template, max_tokens: usize) -> Self {
        let template = Source::BuiltIn(template);
        Self { codec, template, markup: ChatMarkup::plain(), max_tokens }
    }

    /// The same with a template from a file.
    #[cfg(feature = "jinja")]
    #[must_use]
    pub fn with_template_file(self, template: FileTemplate) -> Self {
        Self { template: Source::File(template), ..self }
    }

    /// The same with the marks of a chat model. Templates without turns do not use them.
    ///
    /// # Errors
    /// [`UnknownMark`], when the tokenizer lacks one.
    pub fn with_markup(self, markup: ChatMarkup) -> Result<Self, UnknownMark> {
        markup.check(&self.codec)?;
        Ok(Self { markup, ..self })
    }

    /// The tokenizer.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// The budget, in tokens.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The prompt of `seed`. With `order`, its files are shown in an order drawn from that key;
    /// without, as the seed lists them.
    pub fn build(&self, seed: &SeedExample, order: Option<NoiseKey>) -> Prompt {
        let issue = seed.issue_text();
        let files: Vec<&ContextFile> = match order {
            Some(key) => {
                let order = key.permutation(seed.files.len());
                order.into_iter().map(|index| &seed.files[index]).collect()
            }
            None => seed.files.iter().collect(),
        };
        let whole = self.encode(&issue, &files, &vec![true; files.len()]);
        let (shown, (text, ids, messages)) = if whole.1.len() <= self.max_tokens {
            (vec![true; files.len()], whole)
        } else {
            self.fill(&issue, &files)
        };
        let paths = |wanted: bool| {
            let chosen = files.iter().zip(&shown).filter(move |(_, shown)| **shown == wanted);
            chosen.map(|(file, _)| file.path.clone()).collect()
        };
        Prompt {
            id: seed.id.clone(),
            over_budget: ids.len() > self.max_tokens,
            files: paths(true),
            skipped: paths(false),
            text,
            ids,
            messages,
        }
    }

    /// Seeds whose prompts keep the budget, and the ids of those that cannot.
    ///
    /// A seed over budget still makes a prompt (its first file alone), which may pass the model's
    /// context in the middle of a run: sort them out before it.
    pub fn split_by_budget(&self, seeds: Vec<SeedExample>) -> (Vec<SeedExample>, Vec<String>) {
        let over: Vec<bool> =
            seeds.par_iter().map(|seed| self.build(seed, None).over_budget).collect();
        let mut kept = Vec::with_capacity(seeds.len());
        let mut dropped = Vec::new();
        for (seed, over) in seeds.into_iter().zip(over) {
            if over {
                dropped.push(seed.id);
            } else {
                kept.push(seed);
            }
        }
        (kept, dropped)
    }

    /// Greedy choice by priority. Each candidate is measured in place: tokens of parts do not add
    /// up to the tokens of the whole.
    fn fill(&self, issue: &str, files: &[&ContextFile]) -> (Vec<bool>, Rendered) {
        let role =
            |wanted: FileRole| (0..files.len()).filter(move |&index| files[index].role == wanted);
        let priority: Vec<usize> = role(FileRole::Edit).chain(role(FileRole::Relevant)).collect();
        let mut shown = vec![false; files.len()];
        let mut best = None;
        for &index in &priority {
            shown[index] = true;
            let rendered = self.encode(issue, files, &shown);
            if rendered.1.len() <= self.max_tokens {
                best = Some(rendered);
            } else {
                shown[index] = false;
            }
        }
        let rendered = best.unwrap_or_else(|| {
            if let Some(&first) = priority.first() {
                shown[first] = true;
            }
            self.encode(issue, files, &shown)
        });
        (shown, rendered)
    }

    fn encode(&self, issue: &str, files: &[&ContextFile], shown: &[bool]) -> Rendered {
        let chosen: Vec<(&str, &str)> = files
            .iter()
            .zip(shown)
            .filter(|(_, shown)| **shown)
            .map(|(file, _)| (file.path.as_str(), file.text.as_str()))
            .collect();
        let messages = match &self.template {
            Source::BuiltIn(template) => template.messages(issue, &chosen),
            #[cfg(feature = "jinja")]
            Source::File(template) => template.messages(issue, &chosen),
        };
        let pieces = match (&messages, &self.template) {
            (Some(messages), _) => self.markup.pieces(messages),
            (None, Source::BuiltIn(template)) => template.pieces(&self.markup, issue, &chosen),
            #[cfg(feature = "jinja")]
            (None, Source::File(template)) => vec![Piece::Text(template.text(issue, &chosen))],
        };
        let (text, ids) = (Piece::text(&pieces), Piece::encode(&pieces, &self.codec));
        (text, ids, messages.unwrap_or_default())
    }
}
