//! Running programs: the one place of xtask that starts processes.
//!
//! Each command line is printed before it runs and inherits the terminal; a failure is an error
//! that repeats the command line. Nothing is retried.

use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};

/// One program call, built up and run once.
#[derive(Debug)]
pub struct Call {
    command: Command,
    shown: String,
}

impl Call {
    /// Cargo, the same one that runs this program, in folder `dir`.
    #[must_use]
    pub fn cargo(dir: &Path) -> Self {
        let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        Self::new(program, "cargo", dir)
    }

    /// Git in folder `dir`.
    #[must_use]
    pub fn git(dir: &Path) -> Self {
        Self::new(OsString::from("git"), "git", dir)
    }

    /// Python 3 in folder `dir`.
    #[must_use]
    pub fn python(dir: &Path) -> Self {
        Self::new(OsString::from("python3"), "python3", dir)
    }

    fn new(program: OsString, shown: &str, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(dir);
        Self { command, shown: shown.to_owned() }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        for arg in args {
            self.shown.push(' ');
            self.shown.push_str(arg.as_ref());
            self.command.arg(arg.as_ref());
        }
        self
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.shown = format!("{name}={value:?} {}", self.shown);
        self.command.env(name, value);
        self
    }

    /// Runs it, showing its output, and prints the seconds taken.
    ///
    /// # Errors
    /// When the program cannot be started or ends with another code than 0.
    pub fn run(mut self) -> Result<()> {
        eprintln!("xtask: $ {}", self.shown);
        let start = Instant::now();
        let status =
            self.command.status().with_context(|| format!("cannot start `{}`", self.shown))?;
        if !status.success() {
            bail!("`{}` failed ({status})", self.shown);
        }
        eprintln!("xtask: done in {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Runs it silently and returns its standard output.
    ///
    /// # Errors
    /// As [`Call::run`], and when the output is not UTF-8.
    pub fn read(mut self) -> Result<String> {
        let output = self
            .command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{}`", self.shown))?;
        if !output.status.success() {
            bail!("`{}` failed ({})", self.shown, output.status);
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("`{}` printed text that is not UTF-8", self.shown))
    }
}
