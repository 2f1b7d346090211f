//! What a path says about a file: programming language, lock file, vendored, generated.

/// Extensions of programming files. Markup, styles, data and prose are not programs.
const LANGUAGES: [(&str, &[&str]); 36] = [
    ("Python", &["py", "pyi", "pyx", "pxd"]),
    ("Rust", &["rs"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("Go", &["go"]),
    ("Java", &["java"]),
    ("Kotlin", &["kt", "kts"]),
    ("Scala", &["scala", "sc"]),
    ("C", &["c", "h"]),
    ("C++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl"]),
    ("C#", &["cs"]),
    ("F#", &["fs", "fsi", "fsx"]),
    ("Ruby", &["rb", "rake"]),
    ("PHP", &["php", "phtml"]),
    ("Swift", &["swift"]),
    ("Objective-C", &["m", "mm"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Erlang", &["erl", "hrl"]),
    ("Haskell", &["hs", "lhs"]),
    ("OCaml", &["ml", "mli"]),
    ("Clojure", &["clj", "cljs", "cljc"]),
    ("Lua", &["lua"]),
    ("Perl", &["pl", "pm", "t"]),
    ("R", &["r"]),
    ("Julia", &["jl"]),
    ("Shell", &["sh", "bash", "zsh", "fish", "ps1"]),
    ("SQL", &["sql"]),
    ("Zig", &["zig"]),
    ("Nim", &["nim"]),
    ("Crystal", &["cr"]),
    ("Groovy", &["groovy", "gradle"]),
    ("Fortran", &["f", "f90", "f95", "f03", "f08"]),
    ("CUDA", &["cu", "cuh"]),
    ("Web component", &["vue", "svelte", "astro"]),
    ("Solidity", &["sol"]),
];

const LOCK_FILES: [&str; 30] = [
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "pipfile.lock",
    "pdm.lock",
    "uv.lock",
    "conda-lock.yml",
    "gemfile.lock",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "rebar.lock",
    "pubspec.lock",
    "podfile.lock",
    "cartfile.resolved",
    "package.resolved",
    "flake.lock",
    "packages.lock.json",
    "paket.lock",
    "gradle.lockfile",
    "module.bazel.lock",
    "stack.yaml.lock",
    "cabal.project.freeze",
    "pixi.lock",
];

const VENDORED_FOLDERS: [&str; 9] = [
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "node_modules",
    "bower_components",
    "site-packages",
    ".yarn",
];

const GENERATED_ENDS: [&str; 12] = [
    ".min.js",
    ".min.mjs",
    ".bundle.js",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".designer.cs",
    ".generated.ts",
    ".d.ts.map",
];

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The extension in lower case, without the dot; `None` for `.bashrc`, `Makefile`.
#[must_use]
pub fn extension(path: &str) -> Option<String> {
    let (stem, extension) = name(path).rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_ascii_lowercase())
}

/// The programming language that a path's extension names; `None` for everything else.
#[must_use]
pub fn language(path: &str) -> Option<&'static str> {
    let extension = extension(path)?;
    LANGUAGES
        .iter()
        .find(|(_, extensions)| extensions.contains(&extension.as_str()))
        .map(|(language, _)| *language)
}

/// Whether a package manager writes this file.
#[must_use]
pub fn is_lock_file(path: &str) -> bool {
    LOCK_FILES.contains(&name(path).to_ascii_lowercase().as_str())
}

/// Whether the path lies in a folder of other people's code, or its name says that a program
/// wrote it.
#[must_use]
pub fn is_vendored_or_generated(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let folders = lower.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| VENDORED_FOLDERS.contains(&folder))
        || GENERATED_ENDS.iter().any(|end| lower.ends_with(end))
}

/// Whether people write programs in this file.
#[must_use]
pub fn is_programming_file(path: &str) -> bool {
    language(path).is_some() && !is_vendored_or_generated(path)
}

/// Whether the path is that of a test, by the habits of many languages.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    const FOLDERS: [&str; 7] = ["test", "tests", "testing", "__tests__", "spec", "specs", "e2e"];
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let marked = |mark: &str| stem.ends_with(mark);
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || stem.starts_with("test_")
        || matches!(stem, "test" | "tests" | "conftest")
        || ["_test", "_tests", "_spec", "-test", "-spec"].iter().any(|mark| marked(mark))
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
        || path.rsplit('/').next().is_some_and(|name| {
            // Camel case: `PagerTest.java`, not `latest.java`.
            let stem = name.split('.').next().unwrap_or("");
            stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("Spec")
        })
}

#[cfg(test)]
mod tests {
    use super::{is_lock_file, is_programming_file, is_test_file, language};

    #[test]
    fn test_files() {
        for path in [
            "tests/a.py",
            "a/test_b.py",
            "a_test.go",
            "x/a.spec.ts",
            "src/test/java/A.java",
            "PagerTest.java",
            "conftest.py",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in ["latest.py", "contest.rs", "src/testament.rs", "attest/a.py", "inspect.py"] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn languages() {
        for (path, expected) in [
            ("a/b.py", Some("Python")),
            ("B.RS", Some("Rust")),
            ("x.d.ts", Some("TypeScript")),
            ("README.md", None),
            (".py", None),
            ("Makefile", None),
            ("a.py/b", None),
            ("x.", None),
            ("setup.cfg", None),
            ("a.ipynb", None),
        ] {
            assert_eq!(language(path), expected, "{path}");
        }
    }

    #[test]
    fn kinds() {
        for path in ["Cargo.lock", "a/b/package-lock.json", "go.sum", "Gemfile.lock"] {
            assert!(is_lock_file(path) && !is_programming_file(path), "{path}");
        }
        for path in ["vendor/a.go", "x/node_modules/y/z.js", "dist.min.js", "api_pb2.py"] {
            assert!(!is_programming_file(path), "{path}");
        }
        assert!(is_programming_file("src/vendor.go") && !is_lock_file("lock.py"));
    }
}
