//! Which files of its own repository a program imports, guessed from its text.
//!
//! Guesses are paths in order of likelihood; the caller keeps those that exist. Lines are read
//! one by one, without a parser: a wrong guess names a file that does not exist.

use super::{folder_of, join};
use crate::language::language;

/// Paths that the file at `path` with `text` may import, in order of its lines.
#[must_use]
pub fn imported_paths(path: &str, text: &str) -> Vec<String> {
    let guess: fn(&str, &str) -> Vec<String> = match language(path) {
        Some("Python") => python,
        Some("Rust") => rust,
        Some("JavaScript" | "TypeScript" | "Web component") => javascript,
        Some("C" | "C++" | "Objective-C" | "CUDA") => c,
        Some("Java" | "Kotlin" | "Scala" | "Groovy") => java,
        Some("Ruby") => ruby,
        _ => return Vec::new(),
    };
    text.lines().flat_map(|line| guess(path, line.trim())).collect()
}

/// `folder`, the folders above it, the root.
fn upwards(folder: &str) -> Vec<String> {
    let mut all = vec![folder.to_owned()];
    let mut next = folder;
    while !next.is_empty() {
        next = folder_of(next);
        all.push(next.to_owned());
    }
    all
}

/// Takes `.` and `..` out of a path; `None` if it leaves the root.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn python(path: &str, line: &str) -> Vec<String> {
    let mut modules: Vec<String> = Vec::new();
    if let Some(rest) = line.strip_prefix("from ") {
        let Some((module, names)) = rest.split_once(" import ") else { return Vec::new() };
        let module = module.trim();
        let names = names.split('#').next().unwrap_or("").trim_matches(['(', ')', ' ']);
        let names = names.split(',').map(|name| name.split_whitespace().next().unwrap_or(""));
        let dot = if module.ends_with('.') || module.is_empty() { "" } else { "." };
        let identifier =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        modules.extend(names.filter(identifier).map(|name| format!("{module}{dot}{name}")));
        modules.push(module.to_owned());
    } else if let Some(rest) = line.strip_prefix("import ") {
        let names = rest.split(',').filter_map(|name| name.split_whitespace().next());
        modules.extend(names.map(str::to_owned));
    }
    let mut found = Vec::new();
    for module in modules {
        let dots = module.bytes().take_while(|&byte| byte == b'.').count();
        let inner = module[dots..].replace('.', "/");
        let roots = if dots == 0 {
            // The import path may start at any folder above, or at `src` or `lib`.
            let mut roots = upwards(folder_of(path));
            roots.extend(["src".to_owned(), "lib".to_owned()]);
            roots
        } else {
            let above = upwards(folder_of(path));
            above.get(dots - 1).cloned().into_iter().collect()
        };
        for root in roots {
            if inner.is_empty() {
                found.push(join(&root, "__init__.py"));
            } else {
                found.push(join(&root, &format!("{inner}.py")));
                found.push(join(&root, &format!("{inner}/__init__.py")));
            }
        }
    }
    found
}

fn rust(path: &str, line: &str) -> Vec<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    let folder = folder_of(path);
    // The folder of this module's children: `a.rs` owns `a/`, `mod.rs` and roots own their own.
    let own = match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ => join(folder, stem),
    };
    if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
        return vec![join(&own, &format!("{name}.rs")), join(&own, &format!("{name}/mod.rs"))];
    }
    let Some(rest) = line.strip_prefix("use ") else { return Vec::new() };
    let rest = rest.split(['{', ';', '*']).next().unwrap_or("").trim_end_matches("::");
    let rest = rest.split(" as ").next().unwrap_or("").trim();
    let mut parts = rest.split("::").peekable();
    let root = match parts.next() {
        Some("crate") => {
            let above = upwards(folder);
            let src = above.iter().find(|f| *f == "src" || f.ends_with("/src"));
            src.cloned().unwrap_or_else(|| folder.to_owned())
        }
        Some("self") => own,
        Some("super") => {
            let mut up = folder_of(&own).to_owned();
            while parts.peek() == Some(&"super") {
                parts.next();
                up = folder_of(&up).to_owned();
            }
            up
        }
        _ => return Vec::new(),
    };
    let parts: Vec<&str> = parts.collect();
    let mut found = Vec::new();
    for len in (1..=parts.len()).rev() {
        let inner = join(&root, &parts[..len].join("/"));
        found.push(format!("{inner}.rs"));
        found.push(format!("{inner}/mod.rs"));
    }
    found
}

fn javascript(path: &str, line: &str) -> Vec<String> {
    const ENDS: [&str; 15] = [
        "",
        ".ts",
        ".tsx",
        ".js",
        ".jsx",
        ".mjs",
        ".vue",
        ".svelte",
        ".cjs",
        "/index.ts",
        "/index.tsx",
        "/index.js",
        "/index.jsx",
        "/index.mjs",
        ".mts",
    ];
    let imports = line.starts_with("import") || line.starts_with("export") || line.starts_with('}');
    let start =
        if imports { line.rfind(" from ").or(line.find("import")) } else { line.find("require(") };
    let Some(target) = start.and_then(|start| quoted(&line[start..])) else { return Vec::new() };
    if !target.starts_with('.') {
        return Vec::new();
    }
    let Some(base) = normal(&join(folder_of(path), target)) else { return Vec::new() };
    // TypeScript imports `./a.js` and means `./a.ts`.
    let swapped = base.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
    let found = ENDS.iter().map(|end| format!("{base}{end}"));
    found.chain(swapped).collect()
}

fn c(path: &str, line: &str) -> Vec<String> {
    let Some(rest) = line.strip_prefix('#').map(str::trim_start) else { return Vec::new() };
    let Some(rest) = rest.strip_prefix("include") else { return Vec::new() };
    let rest = rest.trim_start();
    let target = match rest.strip_prefix('<') {
        Some(inner) => inner.split('>').next(),
        None => quoted(rest),
    };
    let Some(target) = target else { return Vec::new() };
    let mut found = Vec::new();
    for root in upwards(folder_of(path)) {
        found.extend(normal(&join(&root, target)));
        found.extend(normal(&join(&join(&root, "include"), target)));
    }
    found
}

fn java(path: &str, line: &str) -> Vec<String> {
    let Some(rest) = line.strip_prefix("import ") else { return Vec::new() };
    let name = rest.trim_start_matches("static ").trim_end_matches(';').trim();
    let inner = name.replace('.', "/");
    let end = path.rsplit('.').next().unwrap_or("java");
    upwards(folder_of(path)).iter().map(|root| join(root, &format!("{inner}.{end}"))).collect()
}

fn ruby(path: &str, line: &str) -> Vec<String> {
    let relative = line.starts_with("require_relative");
    if !relative && !line.starts_with("require ") {
        return Vec::new();
    }
    let Some(target) = quoted(line) else { return Vec::new() };
    let target = format!("{}.rb", target.trim_end_matches(".rb"));
    if relative {
        return normal(&join(folder_of(path), &target)).into_iter().collect();
    }
    upwards(folder_of(path)).iter().map(|root| join(&join(root, "lib"), &target)).collect()
}

/// The first quoted text of a line.
fn quoted(line: &str) -> Option<&str> {
    let start = line.find(['"', '\''])?;
    let quote = line[start..].chars().next()?;
    let inner = &line[start + 1..];
    inner.find(quote).map(|end| &inner[..end])
}
