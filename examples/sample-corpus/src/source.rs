//! Small source files made of template functions, each with at most one planted bug.
//!
//! A file has one to three functions and 6 to 18 lines of fewer than 60 characters. Its text is a
//! function of the set of bugs already fixed, so that later pull requests see the earlier fixes.

use crate::names::{Length, NamePool, constant, variable, word};
use crate::plan::FunctionRecord;
use crate::random::Stream;
use crate::template::{Binding, Bug, Language, Template, placeholders, templates};

/// The most lines of a source file.
pub(crate) const MAX_LINES: usize = 18;
/// The fewest lines of a source file.
pub(crate) const MIN_LINES: usize = 6;
/// The most characters of a line.
pub(crate) const MAX_WIDTH: usize = 59;

/// A file of constants that the source files of a package import.
pub(crate) struct Constants {
    pub(crate) path: String,
    /// How a source file imports names, with `{}` for them.
    import: String,
    names: Vec<String>,
    pub(crate) text: String,
}

/// A folder of source files and its constants.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) constants: Constants,
}

impl Package {
    /// Draws a package with 3 to 6 constants.
    pub(crate) fn draw(language: Language, stream: &mut Stream, pool: &mut NamePool) -> Self {
        let name = pool.package(stream);
        let stem = pool.stem(stream);
        let count = 3 + stream.below(4);
        let mut names: Vec<String> = Vec::new();
        while names.len() < count {
            let name = constant(stream);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.sort();
        let lines = names.iter().map(|name| {
            let value = 10 + stream.below(90);
            match language {
                Language::Python => format!("{name} = {value}\n"),
                Language::Rust => format!("pub const {name}: i64 = {value};\n"),
            }
        });
        let text = lines.collect();
        let (path, import) = match language {
            Language::Python => {
                (format!("{name}/{stem}.py"), format!("from {name}.{stem} import {{}}\n"))
            }
            Language::Rust => {
                (format!("src/{name}/{stem}.rs"), format!("use crate::{name}::{stem}::{{}};\n"))
            }
        };
        Self { name, constants: Constants { path, import, names, text } }
    }
}

/// The wordings of a planted bug's issue, filled in.
pub(crate) struct Wordings {
    pub(crate) titles: Vec<String>,
    pub(crate) wrongs: Vec<String>,
    pub(crate) expected: Vec<String>,
}

/// A function of a file.
pub(crate) struct Function {
    template: &'static str,
    /// The function the issue names.
    pub(crate) name: String,
    /// Every function the template defines.
    defines: Vec<String>,
    right: String,
    constants: Vec<String>,
    pub(crate) bug: Option<Planted>,
}

impl Function {
    /// Gives the names of a function that is not used back.
    pub(crate) fn release(&self, pool: &mut NamePool) {
        self.defines.iter().for_each(|name| pool.release_function(name));
    }

    /// Its template and names.
    pub(crate) fn records(&self, language: Language) -> impl Iterator<Item = FunctionRecord> {
        let template = format!("{}/{}", language.name(), self.template);
        self.defines
            .iter()
            .map(move |name| FunctionRecord { template: template.clone(), name: name.clone() })
    }
}

/// A bug in a function.
pub(crate) struct Planted {
    pub(crate) kind: &'static str,
    wrong: String,
    pub(crate) wordings: Wordings,
}

/// A file with its functions, top to bottom.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    language: Language,
    header: String,
    pub(crate) functions: Vec<Function>,
}

impl SourceFile {
    /// The text when the functions in `fixed` have no bug any more.
    pub(crate) fn text(&self, fixed: &[usize]) -> String {
        let bodies: Vec<&str> = self
            .functions
            .iter()
            .enumerate()
            .map(|(index, function)| match &function.bug {
                Some(bug) if !fixed.contains(&index) => bug.wrong.as_str(),
                _ => function.right.as_str(),
            })
            .collect();
        let mut text = self.header.clone();
        let gap = gap(self.language);
        if !text.is_empty() {
            text += gap;
        }
        text + &bodies.join(gap)
    }

    /// The indices of functions with a bug.
    pub(crate) fn buggy(&self) -> Vec<usize> {
        (0..self.functions.len()).filter(|&i| self.functions[i].bug.is_some()).collect()
    }

    fn is_well_sized(&self) -> bool {
        let fixed = self.text(&self.buggy());
        [fixed, self.text(&[])].iter().all(|text| {
            (MIN_LINES..=MAX_LINES).contains(&text.lines().count())
                && text.lines().all(|line| line.chars().count() <= MAX_WIDTH)
        })
    }
}

fn gap(language: Language) -> &'static str {
    match language {
        Language::Python => "\n\n",
        Language::Rust => "\n",
    }
}

const SEPARATORS: [&str; 6] = [",", ";", ":", "-", "/", "_"];

/// Draws files of one language.
pub(crate) struct Composer {
    language: Language,
    templates: Vec<Template>,
}

impl Composer {
    /// A composer over all templates of `language`.
    pub(crate) fn new(language: Language) -> Self {
        Self { language, templates: templates(language) }
    }

    /// A file of `package` with at most `most_bugs` bugs (one or more).
    pub(crate) fn file(
        &self,
        package: &Package,
        most_bugs: usize,
        stream: &mut Stream,
        pool: &mut NamePool,
    ) -> SourceFile {
        let stem = pool.stem(stream);
        let folder = match self.language {
            Language::Python => "",
            Language::Rust => "src/",
        };
        let extension = self.language.extension();
        let path = format!("{folder}{}/{stem}.{extension}", package.name);
        for attempt in 0.. {
            let length = Length::of_attempt(attempt);
            let file = self.try_file(path.clone(), package, most_bugs, length, stream, pool);
            if file.is_well_sized() {
                return file;
            }
            file.functions.iter().for_each(|function| function.release(pool));
        }
        unreachable!("the attempts never end")
    }

    fn try_file(
        &self,
        path: String,
        package: &Package,
        most_bugs: usize,
        length: Length,
        stream: &mut Stream,
        pool: &mut NamePool,
    ) -> SourceFile {
        let count = match stream.below(100) {
            0..30 => 1,
            30..75 => 2,
            _ => 3,
        };
        let mut functions = Vec::new();
        let mut bugs = 0;
        for index in 0..count {
            let template = stream.pick(&self.templates);
            let last_chance = index + 1 == count && bugs == 0;
            let plant = bugs < most_bugs && (last_chance || stream.chance(90));
            bugs += usize::from(plant);
            functions.push(self.function(template, package, plant, length, stream, pool));
        }
        let header = header(self.language, package, &functions);
        SourceFile { path, language: self.language, header, functions }
    }

    fn function(
        &self,
        template: &Template,
        package: &Package,
        plant: bool,
        length: Length,
        stream: &mut Stream,
        pool: &mut NamePool,
    ) -> Function {
        let bug = if plant { Some(stream.pick(&template.bugs)) } else { None };
        let mut keys = placeholders(&template.code);
        if let Some(bug) = bug {
            keys.extend(placeholders(&bug.code));
        }
        keys.sort_unstable();
        keys.dedup();
        let binding = bind(&keys, package, length, stream, pool);
        let bound = |wanted: &[char]| -> Vec<String> {
            wanted
                .iter()
                .filter(|key| keys.contains(key))
                .map(|&key| binding.get(key).to_owned())
                .collect()
        };
        Function {
            template: template.name,
            name: binding.get('f').to_owned(),
            defines: bound(&['f', 'g']),
            right: binding.fill(&template.code),
            constants: bound(&['K', 'L']),
            bug: bug.map(|bug| planted(bug, &binding)),
        }
    }

    /// A new correct function for a feature, and the text to add for it.
    pub(crate) fn feature(
        &self,
        package: &Package,
        stream: &mut Stream,
        pool: &mut NamePool,
    ) -> (Function, String) {
        loop {
            let template = stream.pick(&self.templates);
            let function = self.function(template, package, false, Length::Short, stream, pool);
            let plain = function.constants.is_empty() && !function.right.contains("HashMap");
            if plain && function.right.lines().all(|line| line.len() <= MAX_WIDTH) {
                let text = format!("{}{}", gap(self.language), function.right);
                return (function, text);
            }
            function.release(pool);
        }
    }
}

fn planted(bug: &Bug, binding: &Binding) -> Planted {
    let fill = |texts: &[&str]| texts.iter().map(|text| binding.fill(text)).collect();
    Planted {
        kind: bug.kind,
        wrong: binding.fill(&bug.code),
        wordings: Wordings {
            titles: fill(&bug.titles),
            wrongs: fill(&bug.wrongs),
            expected: fill(&bug.expected),
        },
    }
}

fn bind(
    keys: &[char],
    package: &Package,
    length: Length,
    stream: &mut Stream,
    pool: &mut NamePool,
) -> Binding {
    let mut binding = Binding::default();
    // Functions first: a variable must not hide one.
    let functions = keys.iter().filter(|key| matches!(key, 'f' | 'g'));
    let others = keys.iter().filter(|key| !matches!(key, 'f' | 'g'));
    for &key in functions.chain(others) {
        let value = loop {
            let value = match key {
                'f' | 'g' => pool.function(stream, length),
                'a'..='e' => variable(stream, length),
                'x'..='z' => word(stream, length).to_owned(),
                'K' | 'L' => stream.pick(&package.constants.names).clone(),
                'n' => (2 + stream.below(8)).to_string(),
                'm' | 'p' => (10 + stream.below(90)).to_string(),
                's' | 't' => (*stream.pick(&SEPARATORS)).to_owned(),
                _ => panic!("a template has the unknown placeholder ${key}"),
            };
            if !binding.holds(&value) {
                break value;
            }
        };
        binding.set(key, value);
    }
    binding
}

fn header(language: Language, package: &Package, functions: &[Function]) -> String {
    let mut names: Vec<&str> =
        functions.iter().flat_map(|f| f.constants.iter().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let mut header = String::new();
    if functions.iter().any(|function| function.right.contains("HashMap")) {
        header += "use std::collections::HashMap;\n";
    }
    if !names.is_empty() {
        let list = match (language, names.as_slice()) {
            (Language::Rust, [_, _, ..]) => format!("{{{}}}", names.join(", ")),
            _ => names.join(", "),
        };
        if header.is_empty() {
            header = package.constants.import.replace("{}", &list);
        } else {
            header += "\n";
            header += &package.constants.import.replace("{}", &list);
        }
    }
    header
}
