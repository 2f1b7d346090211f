//! The `git` program: the one place that starts processes.
//!
//! Every call is cut off from the user's and the system's configuration, so that the same corpus
//! has the same commits on every machine.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::CorpusError;

fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"]
    {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        // glibc maps and unmaps zlib's state anew for every object otherwise: nine tenths of the
        // system time of an import.
        .env("MALLOC_MMAP_THRESHOLD_", "4194304")
        .env("MALLOC_TRIM_THRESHOLD_", "67108864")
        // A corpus can be made again: waiting for the disk after every pack is not worth it.
        .args(["-c", "core.fsync=none"])
        .arg("--git-dir")
        .arg(repository)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn run(
    mut command: Command,
    name: &'static str,
    repository: &Path,
    input: Option<&[u8]>,
) -> Result<(), CorpusError> {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|source| CorpusError::GitMissing { source })?;
    let written = match (child.stdin.take(), input) {
        (Some(pipe), Some(input)) => {
            let mut pipe = BufWriter::new(pipe);
            pipe.write_all(input).and_then(|()| pipe.flush())
        }
        _ => Ok(()),
    };
    let path = repository.to_path_buf();
    let output = child.wait_with_output().map_err(|source| CorpusError::Io {
        action: "wait for git in",
        path: path.clone(),
        source,
    })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.lines().next_back().unwrap_or("no message").to_owned();
        return Err(CorpusError::GitFailed { command: name, path, status: output.status, message });
    }
    // A broken pipe is explained by git's own failure; without one it stands for itself.
    written.map_err(|source| CorpusError::Io { action: "send a history to git in", path, source })
}

/// Makes a bare repository from a fast-import stream of the main branch, and adds `references` to
/// marks; gives the commit of every mark from 1 on.
///
/// # Errors
/// If git is missing or fails, or names no commit for one of the `marks`.
pub(crate) fn import(
    repository: &Path,
    stream: &[u8],
    marks: usize,
    references: &[(String, usize)],
) -> Result<Vec<String>, CorpusError> {
    let io = |action| {
        let path = repository.to_path_buf();
        move |source| CorpusError::Io { action, path, source }
    };
    fs::create_dir_all(repository).map_err(io("create the folder"))?;
    let mut init = git(repository);
    init.args(["init", "--quiet", "--bare", "--template=", "--object-format=sha1"])
        .arg("--initial-branch=main");
    run(init, "init", repository, None)?;

    let marks_path = repository.join("corpus-marks");
    let mut import = git(repository);
    import.args(["fast-import", "--quiet", "--date-format=raw"]).arg({
        let mut option = std::ffi::OsString::from("--export-marks=");
        option.push(std::path::absolute(&marks_path).map_err(io("find the folder"))?);
        option
    });
    run(import, "fast-import", repository, Some(stream))?;

    let text = fs::read_to_string(&marks_path).map_err(io("read the marks in"))?;
    fs::remove_file(&marks_path).map_err(io("remove the marks in"))?;
    let mut commits = vec![None; marks];
    for line in text.lines() {
        if let Some((mark, commit)) = line.strip_prefix(':').and_then(|line| line.split_once(' ')) {
            let index = mark.parse::<usize>().ok().and_then(|mark| mark.checked_sub(1));
            if let Some(place) = index.and_then(|index| commits.get_mut(index)) {
                *place = Some(commit.to_owned());
            }
        }
    }
    let commits: Result<Vec<String>, CorpusError> = commits
        .into_iter()
        .zip(1..)
        .map(|(commit, mark)| {
            commit.ok_or_else(|| CorpusError::MarkMissing { mark, path: repository.to_path_buf() })
        })
        .collect();
    let commits = commits?;
    let refs = packed_refs(references, &commits);
    fs::write(repository.join("packed-refs"), refs).map_err(io("write the references in"))?;
    Ok(commits)
}

/// The file git keeps many references in, sorted by name.
fn packed_refs(references: &[(String, usize)], commits: &[String]) -> String {
    let mut lines: Vec<(&str, &str)> =
        references.iter().map(|(name, mark)| (name.as_str(), commits[mark - 1].as_str())).collect();
    lines.sort_unstable();
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, commit) in lines {
        text += &format!("{commit} {name}\n");
    }
    text
}
