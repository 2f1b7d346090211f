//! Related files: imports first, then names in the issue, then neighbours, within limits.

use swerl_data::context::imports::imported_paths;
use swerl_data::{
    ContextOptions, CurateOptions, FileRole, NoProgress, RepositoryOptions, curate_repository,
};

use crate::fixture::TestRepo;

/// Related files, in order, of a fix that rewrites `edited` in a tree of these files.
#[track_caller]
fn check(
    files: &[(&str, &str)],
    edited: &str,
    message: &str,
    limits: ContextOptions,
    expected: &[&str],
) {
    let repo = TestRepo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("Start");
    repo.write(edited, "fixed\n");
    repo.commit(message);
    let options = CurateOptions { context: limits, ..CurateOptions::default() };
    let (seeds, _) =
        curate_repository(repo.path(), &RepositoryOptions::default(), &options, &NoProgress)
            .unwrap();
    let related: Vec<&str> = seeds[0]
        .files
        .iter()
        .filter(|file| file.role == FileRole::Relevant)
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(related, expected);
}

const TREE: [(&str, &str); 8] = [
    ("src/pkg/__init__.py", ""),
    ("src/pkg/edited.py", "import os\nfrom . import b\nfrom pkg.sub.deep import thing\n"),
    ("src/pkg/a.py", "a\n"),
    ("src/pkg/b.py", "b\n"),
    ("src/pkg/data.json", "{}\n"),
    ("src/pkg/sub/deep.py", "deep\n"),
    ("src/web/named.js", "named\n"),
    ("src/pkg/zzz.py", "0123456789\n"),
];

#[test]
fn order_of_choice() {
    let many = ContextOptions { max_files: 9, max_tokens: 10_000 };
    // Named, and sharing words with the issue; imported and near; imported; near.
    let expected = [
        "src/web/named.js",
        "src/pkg/b.py",
        "src/pkg/sub/deep.py",
        "src/pkg/a.py",
        "src/pkg/zzz.py",
    ];
    check(&TREE, "src/pkg/edited.py", "Fix web/named.js (#1)", many, &expected);
}

#[test]
fn limits_hold() {
    let limits = |max_files, max_tokens| ContextOptions { max_files, max_tokens };
    check(&TREE, "src/pkg/edited.py", "Fix (#1)", limits(0, 10_000), &[]);
    check(
        &TREE,
        "src/pkg/edited.py",
        "Fix (#1)",
        limits(2, 10_000),
        &["src/pkg/b.py", "src/pkg/sub/deep.py"],
    );
    check(&TREE, "src/pkg/edited.py", "Fix (#1)", limits(9, 0), &[]);
    // Of 9 tokens three files take 6; the 5 of zzz.py do not fit.
    let expected = ["src/pkg/b.py", "src/pkg/sub/deep.py", "src/pkg/a.py"];
    check(&TREE, "src/pkg/edited.py", "Fix (#1)", limits(9, 9), &expected);
}

#[track_caller]
fn check_imports(path: &str, text: &str, expected: &[&str]) {
    let found = imported_paths(path, text);
    for wanted in expected {
        assert!(found.iter().any(|path| path == wanted), "{wanted} is not in {found:?}");
    }
    assert_eq!(found.is_empty(), expected.is_empty(), "{found:?}");
    assert!(found.iter().all(|path| !path.contains("..")), "{found:?}");
}

#[test]
fn imports_by_language() {
    check_imports(
        "p/a.py",
        "import q.r, s",
        &["p/q/r.py", "q/r.py", "q/r/__init__.py", "src/s.py", "s.py"],
    );
    check_imports("p/q/a.py", "from ..x import (y, z)  # why", &["p/x/y.py", "p/x.py"]);
    check_imports("p/q/a.py", "from . import y as z", &["p/q/y.py", "p/q/__init__.py"]);
    check_imports("a.py", "from ... import y", &[]);
    check_imports("a.py", "x = 1\nfrom x", &[]);
    check_imports("c/src/a/b.rs", "use crate::x::{Y, Z};", &["c/src/x.rs", "c/src/x/mod.rs"]);
    check_imports("c/src/a/b.rs", "pub use super::x::y;", &["c/src/a/x.rs", "c/src/a/x/y.rs"]);
    check_imports("c/src/a.rs", "mod x;\nuse self::y::Z;", &["c/src/a/x.rs", "c/src/a/y.rs"]);
    check_imports("c/src/lib.rs", "pub(crate) mod x;", &["c/src/x.rs", "c/src/x/mod.rs"]);
    check_imports("c/src/lib.rs", "use std::io;", &[]);
    check_imports(
        "w/a.ts",
        "import { b } from './b'\nexport * from \"../c/d.js\";",
        &["w/b.ts", "w/b/index.js", "c/d.ts"],
    );
    check_imports("w/a.js", "const b = require('./b');\nimport './e.js';", &["w/b.js", "w/e.js"]);
    check_imports("w/a.js", "import React from 'react';\nimport x from '../../../x';", &[]);
    check_imports("s/a.c", "#include \"b.h\"\n# include <c/d.h>", &["s/b.h", "include/c/d.h"]);
    check_imports("j/src/a/A.java", "import static a.b.C;", &["j/src/a/b/C.java"]);
    check_imports("lib/a.rb", "require_relative 'b/c'\nrequire 'd'", &["lib/b/c.rb", "lib/d.rb"]);
    check_imports("a.go", "import \"fmt\"", &[]);
}
