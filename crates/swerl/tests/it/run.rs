//! Running the command and looking at what it left.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("the command prints UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("the command prints UTF-8"),
        }
    }
}

/// The command in folder `dir`, with no input.
pub(crate) fn swerl(dir: &Path, args: &[&str]) -> Ran {
    command(dir, args).stdin(Stdio::null()).output().expect("the command starts").into()
}

/// The command in folder `dir`, not started yet.
pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swerl"));
    command.current_dir(dir).args(args);
    command
}

/// Names in a folder, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry can be read").file_name())
        .map(|name| name.into_string().expect("test names are UTF-8"))
        .collect();
    names.sort();
    names
}

/// The run failed with one line on standard error that holds each of `parts`.
#[track_caller]
pub(crate) fn fails(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.stderr.trim_end().lines().count(), 1, "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{:?} lacks {part:?}", ran.stderr);
    }
}
