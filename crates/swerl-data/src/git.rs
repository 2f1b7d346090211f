//! Reading clones through the `git` program: the one module that starts processes.
//!
//! A clone is hostile until shown otherwise. No command here runs a hook, a pager, a filter, an
//! external diff or a file-system monitor; none reads the user's or the system's configuration,
//! writes to the clone, touches the network or asks a question. Objects that a partial clone
//! lacks are missing, not fetched. A handful of long-lived processes serve any number of pull
//! requests; they are killed when their owner goes away.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use crate::error::DataError;
use crate::ids::ObjectId;

pub mod changes;
pub mod graph;
pub mod hostile;
pub mod objects;

/// Variables that would point git elsewhere or make it run something.
const UNSET: [&str; 18] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE_SETUP",
];

/// Settings of the repository that must not count.
const SETTINGS: [&str; 10] = [
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "diff.external=",
    "protocol.allow=never",
    "core.attributesFile=/dev/null",
];

/// How much of a command's standard error is kept, in bytes.
const STDERR_KEPT: u64 = 4_096;

/// A local clone, bare or not.
#[derive(Debug, Clone)]
pub struct Repository {
    path: PathBuf,
    git_dir: PathBuf,
}

impl Repository {
    /// Opens the clone at `path`: a folder with a `.git`, or a bare repository. Folders above
    /// `path` are never searched.
    ///
    /// # Errors
    /// If `path` is neither.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        let inner = path.join(".git");
        let bare = path.join("HEAD").exists() && path.join("refs").exists();
        let git_dir = if inner.exists() {
            inner
        } else if bare {
            path.to_path_buf()
        } else {
            return Err(DataError::NotARepository { path: path.to_path_buf() });
        };
        Ok(Self { path: path.to_path_buf(), git_dir })
    }

    /// The folder that was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The commit that `revision` names.
    ///
    /// # Errors
    /// If it names none, or the commit cannot be read: an empty repository, one without objects.
    pub fn commit(&self, revision: &str) -> Result<ObjectId, DataError> {
        let peeled = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled];
        let no_commit =
            || DataError::NoCommit { path: self.path.clone(), revision: revision.to_owned() };
        match self.run(&arguments) {
            Ok(answer) => ObjectId::from_hex(answer.trim_ascii()).map_err(|_| no_commit()),
            Err(DataError::Git { .. }) => Err(no_commit()),
            Err(error) => Err(error),
        }
    }

    /// The address of the remote `origin`, if it has one.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn origin(&self) -> Result<Option<String>, DataError> {
        match self.run(&["config", "--local", "--no-includes", "--get", "remote.origin.url"]) {
            Ok(answer) => Ok(Some(String::from_utf8_lossy(answer.trim_ascii()).into_owned())),
            Err(DataError::Git { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What `git merge-base a b` answers: the first of the best common ancestors. One process a
    /// call; [`graph::CommitGraph`] answers without one.
    ///
    /// # Errors
    /// If git fails; no common ancestor is `None`.
    pub fn merge_base(&self, a: ObjectId, b: ObjectId) -> Result<Option<ObjectId>, DataError> {
        let answer = match self.run(&["merge-base", &a.to_string(), &b.to_string()]) {
            // Exit status 1 without a word: no common ancestor.
            Err(DataError::Git { message, .. }) if message.is_empty() => return Ok(None),
            answer => answer?,
        };
        let id = ObjectId::from_hex(answer.trim_ascii())
            .map_err(|_| self.unexpected("merge-base", &answer))?;
        Ok(Some(id))
    }

    /// The folder that holds the history.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Runs a command to its end and gives its standard output.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, DataError> {
        self.run_process(self.start(arguments, None)?)
    }

    /// [`Self::run`] without opening the repository: its own settings are not read.
    pub(crate) fn run_outside(&self, arguments: &[&str]) -> Result<Vec<u8>, DataError> {
        self.run_process(self.start_at(Path::new("/dev/null"), arguments, None)?)
    }

    fn run_process(&self, mut process: Process) -> Result<Vec<u8>, DataError> {
        let mut answer = Vec::new();
        process.out.read_to_end(&mut answer).map_err(|source| process.pipe_error(source))?;
        process.finish()?;
        Ok(answer)
    }

    /// Starts a command; `input` is written to it from a thread, so that reading its output can
    /// begin at once. Without `input` its standard input stays open for [`Process::write`].
    pub(crate) fn start(
        &self,
        arguments: &[&str],
        input: Option<Vec<u8>>,
    ) -> Result<Process, DataError> {
        self.start_at(&self.git_dir, arguments, input)
    }

    fn start_at(
        &self,
        git_dir: &Path,
        arguments: &[&str],
        input: Option<Vec<u8>>,
    ) -> Result<Process, DataError> {
        let mut command = Command::new("git");
        for variable in UNSET {
            command.env_remove(variable);
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_PAGER", "cat");
        command.arg("--no-pager").arg("--git-dir").arg(git_dir);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| DataError::GitProgram { source })?;
        let missing = "a piped stream is there until it is taken";
        let mut stdin = Some(child.stdin.take().expect(missing));
        let out = BufReader::with_capacity(1 << 16, child.stdout.take().expect(missing));
        let mut stderr = child.stderr.take().expect(missing);
        let message = std::thread::spawn(move || {
            let mut kept = Vec::new();
            // A lost message is no reason to fail: the exit status decides.
            let _ = stderr.by_ref().take(STDERR_KEPT).read_to_end(&mut kept);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            String::from_utf8_lossy(&kept).into_owned()
        });
        let feeder = input.and_then(|input| {
            let mut pipe = stdin.take()?;
            // A command that ends early breaks this pipe; its exit status tells why.
            Some(std::thread::spawn(move || drop(pipe.write_all(&input))))
        });
        Ok(Process {
            child,
            stdin,
            out,
            message: Some(message),
            feeder,
            path: self.path.clone(),
            command: arguments.first().copied().unwrap_or("").to_owned(),
        })
    }

    pub(crate) fn unexpected(&self, command: &str, answer: &[u8]) -> DataError {
        DataError::GitAnswer {
            path: self.path.clone(),
            command: command.to_owned(),
            answer: String::from_utf8_lossy(&answer[..answer.len().min(80)]).into_owned(),
        }
    }
}

/// A running git command. Killed and reaped when dropped.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What the command writes.
    pub(crate) out: BufReader<ChildStdout>,
    message: Option<JoinHandle<String>>,
    feeder: Option<JoinHandle<()>>,
    path: PathBuf,
    command: String,
}

impl Process {
    /// Sends bytes to the command.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        let written = match self.stdin.as_mut() {
            Some(stdin) => stdin.write_all(bytes).and_then(|()| stdin.flush()),
            None => Ok(()),
        };
        written.map_err(|source| self.pipe_error(source))
    }

    /// The error of a pipe that broke; the command's own last words if it has died.
    pub(crate) fn pipe_error(&mut self, source: std::io::Error) -> DataError {
        match self.end() {
            Err(error) => error,
            Ok(()) => DataError::GitPipe {
                path: self.path.clone(),
                command: self.command.clone(),
                source,
            },
        }
    }

    /// Waits for the end of the command and checks its status.
    pub(crate) fn finish(mut self) -> Result<(), DataError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), DataError> {
        self.stdin = None;
        let status = self.child.wait().map_err(|source| DataError::GitPipe {
            path: self.path.clone(),
            command: self.command.clone(),
            source,
        })?;
        if let Some(feeder) = self.feeder.take() {
            let _ = feeder.join();
        }
        let message = self.message.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        Err(DataError::Git {
            path: self.path.clone(),
            command: self.command.clone(),
            status: status.to_string(),
            message: message.lines().next().unwrap_or("").to_owned(),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
