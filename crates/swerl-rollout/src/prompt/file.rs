//! A prompt template from a file, in the language of Jinja.
//!
//! The file sees `issue` (text), `files` (a list with `path` and `text`, whole, each text ended by a
//! line feed), the marks of the answer's grammar (`think_open`, `think_close`, `solution_open`,
//! `solution_close`, `fence`, `path_prefix`, `search_mark`, `divider`, `replace_mark`) and `example`, a
//! worked edit. A name that is not among them is an error.
//!
//! Blocks `system` and `user` make it a conversation; without them the whole text is what the model
//! continues. A conversation has to show how an answer looks: its block `example`, inside `user`, holds
//! one or more edits. They are read by the grammar that scores answers, and must score 1.0.
//!
//! ```text
//! {% block system %}You repair software. ...{% endblock %}
//! {% block user %}{{ issue }}
//! {% for file in files %}{{ path_prefix }}{{ file.path }}
//! {{ file.text }}{% endfor %}
//! Answer like this: {% block example %}{{ example }}{% endblock %}{% endblock %}
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};
use swerl_reward::format::{
    DIVIDER, FENCE, PATH_PREFIX, REPLACE_MARK, SEARCH_MARK, SOLUTION_CLOSE, SOLUTION_OPEN,
    THINK_CLOSE, THINK_OPEN, parse_answer,
};

use super::chat::{Message, Role};
use super::template::worked_example;

/// Why a template file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It is no Jinja, or names something that there is not.
    #[error("{name}, line {line}: {problem}")]
    Syntax {
        /// The file.
        name: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// It renders, but into no prompt.
    #[error("{name}: {problem}; {remedy}")]
    Prompt {
        /// The file.
        name: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
}

/// A template that was read and tried out. Clones share it.
#[derive(Debug, Clone)]
pub struct FileTemplate {
    environment: Arc<Environment<'static>>,
    name: String,
    turns: bool,
}

impl FileTemplate {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`TemplateError`], naming the file and, where there is one, the line.
    pub fn from_file(path: &Path) -> Result<Self, TemplateError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TemplateError::Io { path: path.to_owned(), source })?;
        Self::from_text(&path.display().to_string(), text)
    }

    /// Checks a text; `name` is for messages.
    ///
    /// # Errors
    /// As [`FileTemplate::from_file`].
    pub fn from_text(name: &str, text: impl Into<String>) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let whole = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(whole.map_err(|error| syntax(name, &error))?);
        let syntax = |error: minijinja::Error| syntax(name, &error);
        environment.add_template_owned(NAME, text.into()).map_err(syntax)?;
        let mut template =
            Self { environment: Arc::new(environment), name: name.to_owned(), turns: true };
        template.turns = template.block("user", "", &[]).map_err(syntax)?.is_some();
        template.check().map_err(|problem| match problem {
            Problem::Jinja(error) => syntax(error),
            Problem::Prompt(problem, remedy) => {
                TemplateError::Prompt { name: name.to_owned(), problem, remedy }
            }
        })?;
        Ok(template)
    }

    /// The name for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The turns for an issue and `(path, text)` files; `None` where the template has none.
    ///
    /// # Panics
    /// If the template fails on this input although it passed its checks.
    #[must_use]
    pub fn messages(&self, issue: &str, files: &[(&str, &str)]) -> Option<Vec<Message>> {
        if !self.turns {
            return None;
        }
        let turns = [(Role::System, "system"), (Role::User, "user")];
        let message = |(role, block)| {
            let content = self.block(block, issue, files).unwrap_or_else(|e| self.fail(&e))?;
            Some(Message { role, content: content.trim().to_owned() })
        };
        Some(turns.into_iter().filter_map(message).collect())
    }

    /// The whole text, of a template without turns.
    ///
    /// # Panics
    /// As [`FileTemplate::messages`].
    #[must_use]
    pub fn text(&self, issue: &str, files: &[(&str, &str)]) -> String {
        self.whole(issue, files).unwrap_or_else(|error| self.fail(&error))
    }

    fn fail(&self, error: &minijinja::Error) -> ! {
        panic!("{}: the template passed its checks and fails on a seed: {error}", self.name)
    }

    fn whole(&self, issue: &str, files: &[(&str, &str)]) -> Result<String, minijinja::Error> {
        self.environment.get_template(NAME)?.render(values(issue, files))
    }

    /// One block; `None` where the template does not have it.
    fn block(
        &self,
        block: &str,
        issue: &str,
        files: &[(&str, &str)],
    ) -> Result<Option<String>, minijinja::Error> {
        let template = self.environment.get_template(NAME)?;
        let mut rendered = template.render_captured(values(issue, files))?;
        match rendered.with_state_mut(|state| state.render_block(block)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::UnknownBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renders no file, one and two, looks for what was put in, and scores the example.
    fn check(&self) -> Result<(), Problem> {
        const ISSUE: &str = "An issue 5b1f & <text>.";
        let files = [("a/one.py", "x = 1 # 77aa\n"), ("b/two.py", "y = 2 # 88bb\n")];
        for shown in [&files[..0], &files[..1], &files[..]] {
            let text = match self.turns {
                true => {
                    let user = self.block("user", ISSUE, shown).map_err(Problem::Jinja)?;
                    self.block("system", ISSUE, shown).map_err(Problem::Jinja)?;
                    user.unwrap_or_default()
                }
                false => self.whole(ISSUE, shown).map_err(Problem::Jinja)?,
            };
            let inputs = shown.iter().flat_map(|(path, text)| [*path, *text]).chain([ISSUE]);
            for input in inputs {
                if !text.contains(input) {
                    let problem = format!("the prompt does not hold {input:?} as it is");
                    let remedy =
                        "show {{ issue }}, and {{ file.path }} and {{ file.text }} of all files";
                    return Err(Problem::Prompt(problem, remedy));
                }
            }
        }
        if self.turns { self.check_example() } else { Ok(()) }
    }

    fn check_example(&self) -> Result<(), Problem> {
        let wrong = |problem| {
            let remedy = "let the block hold {{ example }}, or edits of the answer format";
            Err(Problem::Prompt(problem, remedy))
        };
        let Some(example) = self.block("example", "", &[]).map_err(Problem::Jinja)? else {
            return wrong("a conversation has no block `example` that shows an answer".to_owned());
        };
        let answer = if example.contains(SOLUTION_OPEN) {
            example
        } else {
            format!("{THINK_OPEN}\nx\n{THINK_CLOSE}\n{SOLUTION_OPEN}\n{example}\n{SOLUTION_CLOSE}")
        };
        let edits = match parse_answer(&answer) {
            Ok(answer) => answer.edits,
            Err(failure) => return wrong(format!("its example is no answer: {failure:?}")),
        };
        let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
        for edit in &edits {
            let grow = |texts: &mut BTreeMap<String, String>, text: &str| {
                let file = texts.entry(edit.path.clone()).or_default();
                file.push_str(text);
                file.push('\n');
            };
            grow(&mut old, &edit.search);
            grow(&mut new, &edit.replace);
        }
        let score = swerl_reward::score_search_replace(&old, &new, &answer);
        if score.is_exact() {
            return Ok(());
        }
        wrong(format!("its example scores {}: {}", score.reward, score.outcome.kind()))
    }
}

/// The only template of an environment.
const NAME: &str = "prompt";

enum Problem {
    Jinja(minijinja::Error),
    Prompt(String, &'static str),
}

fn syntax(name: &str, error: &minijinja::Error) -> TemplateError {
    let detail = error.detail().map(str::to_owned);
    TemplateError::Syntax {
        name: name.to_owned(),
        line: error.line().unwrap_or(1),
        problem: detail.unwrap_or_else(|| error.kind().to_string()),
    }
}

fn values(issue: &str, files: &[(&str, &str)]) -> Value {
    let file = |(path, text): &(&str, &str)| {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        context! { path => *path, text => format!("{text}{end}") }
    };
    context! {
        issue => issue.trim_end(),
        files => files.iter().map(file).collect::<Vec<_>>(),
        example => worked_example(),
        think_open => THINK_OPEN,
        think_close => THINK_CLOSE,
        solution_open => SOLUTION_OPEN,
        solution_close => SOLUTION_CLOSE,
        fence => FENCE,
        path_prefix => PATH_PREFIX,
        search_mark => SEARCH_MARK,
        divider => DIVIDER,
        replace_mark => REPLACE_MARK,
    }
}
