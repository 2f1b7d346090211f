//! A program that answers lines with lines. The only place of this crate that starts processes.
//!
//! Each has a thread that writes, one that reads and one that keeps the end of standard error, so that
//! nobody waits for a full pipe. On Unix a program leads a process group of its own, which is killed
//! as a whole when the program is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest answer that is read.
const MAX_LINE: u64 = 64 << 20;
/// How much of standard error is kept.
const KEPT: usize = 2000;

/// Why an exchange gave no line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("no answer in time")]
    Timeout,
    #[error("it ended without an answer")]
    Ended,
    #[error("{0}")]
    Answer(String),
}

/// A running program.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    requests: Option<Sender<String>>,
    answers: Receiver<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Program {
    pub(super) fn start(program: &str, arguments: &[String]) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("a pipe is missing");
        let mut stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let mut errors = child.stderr.take().ok_or_else(missing)?;
        let (requests, to_write) = mpsc::channel::<String>();
        let (read, answers) = mpsc::channel();
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let writer = std::thread::spawn(move || {
            for line in to_write {
                let written = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
                if written.is_err() {
                    break;
                }
            }
        });
        let reader = std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                    Ok(count) if count > 0 && line.ends_with(b"\n") => {
                        let line = String::from_utf8_lossy(&line).into_owned();
                        if read.send(line).is_err() {
                            break;
                        }
                    }
                    // The end, an error, or an answer that is too long or cut.
                    _ => break,
                }
            }
        });
        let kept = Arc::clone(&stderr);
        let listener = std::thread::spawn(move || {
            let mut part = [0; 1024];
            while let Ok(count @ 1..) = errors.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..count]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
        let threads = vec![writer, reader, listener];
        Ok(Self { child, requests: Some(requests), answers, stderr, threads })
    }

    /// Sends a line, and waits for the next one that comes back.
    pub(super) fn exchange(&mut self, line: &str, timeout: Duration) -> Result<String, Broken> {
        let requests = self.requests.as_ref().ok_or(Broken::Ended)?;
        requests.send(format!("{line}\n")).map_err(|_| Broken::Ended)?;
        self.answers.recv_timeout(timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => Broken::Timeout,
            RecvTimeoutError::Disconnected => Broken::Ended,
        })
    }

    /// The end of what it wrote to standard error, on one line.
    pub(super) fn last_words(&self) -> String {
        // A program that has ended may have words left in the pipe.
        if let Some(listener) = self.threads.last() {
            wait_for(listener, 20);
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.requests = None;
        kill_group(&self.child);
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for thread in self.threads.drain(..) {
            // A process that left the group may hold a pipe open; its thread is let go.
            if wait_for(&thread, 200) {
                let _ = thread.join();
            }
        }
    }
}

/// Waits for a thread's end for `looks` times 5 ms.
fn wait_for(thread: &JoinHandle<()>, looks: u32) -> bool {
    for _ in 0..looks {
        if thread.is_finished() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    thread.is_finished()
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // The child is not waited for yet, so its number is still its own.
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}
