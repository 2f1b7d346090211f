//! Chat templates, rendered as transformers renders them, and their token ids.
//!
//! A template is Jinja (blocks trimmed, `raise_exception`, Python's string methods). What a user wrote
//! can spell a control token; [`ChatTemplate::encode`] makes it plain text all the same.

use std::collections::BTreeMap;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind, context};
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::tokenizer::Tokenizer;

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, or what the template knows besides.
    pub role: String,
    /// What was said.
    pub content: String,
}

impl Message {
    /// A message of `role`.
    #[must_use]
    pub fn new(role: &str, content: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: content.into() }
    }
}

/// The template of a model, with the spellings of its tokens that templates name.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    source: String,
    /// `bos_token`, `eos_token` and the like.
    tokens: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawTemplate {
    One(String),
    Many(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

impl ChatTemplate {
    /// Reads `chat_template.jinja`, or `chat_template` of `tokenizer_config.json` (where there are
    /// several: the one named `default`).
    ///
    /// # Errors
    /// A file is malformed, the folder has no template, or the template is not Jinja.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer_config.json");
        let mut config: serde_json::Map<String, serde_json::Value> = match read(&path)? {
            None => serde_json::Map::new(),
            Some(text) => serde_json::from_str(&text)
                .map_err(|source| ModelError::Json { path: path.clone(), source })?,
        };
        let refuse =
            |reason: &str| ModelError::Config { path: path.clone(), reason: reason.to_owned() };
        let source =
            match (read(&folder.join("chat_template.jinja"))?, config.remove("chat_template")) {
                (Some(source), _) => source,
                (None, None) => return Err(refuse("the model has no chat_template")),
                (None, Some(value)) => match serde_json::from_value(value) {
                    Ok(RawTemplate::One(source)) => source,
                    Ok(RawTemplate::Many(all)) => all
                        .into_iter()
                        .find(|t| t.name == "default")
                        .map(|t| t.template)
                        .ok_or_else(|| refuse("no chat_template is named default"))?,
                    Err(source) => return Err(ModelError::Json { path, source }),
                },
            };
        let tokens = config.iter().filter(|(name, _)| name.ends_with("_token"));
        let tokens = tokens.filter_map(|(name, value)| {
            // A token is a string, or an object that holds its spelling.
            let spelling = value.as_str().or_else(|| value.get("content")?.as_str())?;
            Some((name.clone(), spelling.to_owned()))
        });
        Self::new(source, tokens.collect()).map_err(|e| refuse(&describe(&e)))
    }

    /// A template from its source; `tokens` maps `bos_token` and the like to spellings.
    ///
    /// # Errors
    /// The source is not Jinja.
    pub fn new(source: String, tokens: BTreeMap<String, String>) -> Result<Self, Error> {
        // The marks of what an assistant generates change no text.
        let mut plain = source;
        for tag in ["generation", "endgeneration"] {
            for (open, close) in [("{%", "%}"), ("{%-", "%}"), ("{%", "-%}"), ("{%-", "-%}")] {
                let instead = format!("{open} if true {close}{open} endif {close}");
                plain = plain.replace(&format!("{open} {tag} {close}"), &instead);
            }
        }
        environment().template_from_str(&plain)?;
        Ok(Self { source: plain, tokens, variables: BTreeMap::new() })
    }

    /// Sets a variable of the template, say `date_string`. `strftime_now` is not defined, so that no
    /// prompt depends on the clock; templates that ask whether it is have a date of their own.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The text of a conversation; with `generation_prompt`, up to where the assistant begins.
    ///
    /// # Errors
    /// The template refuses the conversation (`raise_exception`), or uses what is not offered.
    pub fn render(&self, messages: &[Message], generation_prompt: bool) -> Result<String, Error> {
        let messages: Vec<Value> = messages
            .iter()
            .map(|m| context! { role => m.role.as_str(), content => m.content.as_str() })
            .collect();
        let fixed = context! { messages, add_generation_prompt => generation_prompt };
        let (tokens, variables) =
            (Value::from(self.tokens.clone()), Value::from(self.variables.clone()));
        environment()
            .template_from_str(&self.source)?
            .render(context! { ..fixed, ..variables, ..tokens })
    }

    /// The token ids of [`ChatTemplate::render`]. Control tokens come from the template and the roles
    /// alone: one that is spelt in a content becomes ordinary tokens.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`].
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message],
        generation_prompt: bool,
    ) -> Result<Vec<u32>, Error> {
        let specials = tokenizer.special_tokens();
        let marked: Vec<Message> = messages
            .iter()
            .map(|m| Message { role: m.role.clone(), content: mark(&m.content, &specials) })
            .collect();
        let text = self.render(&marked, generation_prompt)?;
        let mut ids = Vec::new();
        let mut rest = text.as_str();
        loop {
            let next = find(rest, &specials);
            let plain = next.map_or(rest, |(at, _, _)| &rest[..at]);
            ids.extend(tokenizer.encode(&plain.replace(MARK, "")));
            let Some((at, spelling, id)) = next else { return Ok(ids) };
            ids.push(id);
            rest = &rest[at + spelling.len()..];
        }
    }
}

/// The first control token of `text`, the longest of those that begin there.
fn find<'s>(text: &str, specials: &'s [(String, u32)]) -> Option<(usize, &'s str, u32)> {
    specials
        .iter()
        .filter_map(|(spelling, id)| Some((text.find(spelling.as_str())?, spelling.as_str(), *id)))
        .min_by_key(|(at, spelling, _)| (*at, usize::MAX - spelling.len()))
}

/// Put into a content after the first character of each control token that is spelt there. A
/// noncharacter of Unicode, so no honest text has it; a content's own ones are left out.
const MARK: char = '\u{FDD0}';

fn mark(content: &str, specials: &[(String, u32)]) -> String {
    let mut out = String::with_capacity(content.len());
    let content = content.replace(MARK, "");
    for (at, c) in content.char_indices() {
        out.push(c);
        let spelt = |(spelling, _): &(String, u32)| content[at..].starts_with(spelling.as_str());
        if specials.iter().any(spelt) {
            out.push(MARK);
        }
    }
    out
}

fn environment<'s>() -> Environment<'s> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters"));
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_filter("tojson", to_json);
    environment
}

/// As Python's `json.dumps(value, ensure_ascii=False)`; no HTML escapes.
#[allow(clippy::needless_pass_by_value)] // The library hands a filter its options by value.
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    options.assert_all_used()?;
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, PythonJson);
    value.serialize(&mut serializer).map_err(|e| {
        Error::new(ErrorKind::BadSerialization, "the value is no JSON").with_source(e)
    })?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8"))
}

/// `[1, 2]` and `{"a": 1}`, with a space after each comma and colon.
struct PythonJson;

impl serde_json::ser::Formatter for PythonJson {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

fn read(path: &Path) -> Result<Option<String>, ModelError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Read { path: path.to_owned(), source }),
    }
}

fn describe(error: &Error) -> String {
    format!("chat_template: {error}")
}
