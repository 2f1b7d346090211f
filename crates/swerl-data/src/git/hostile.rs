//! What a clone would make git run, or read outside the clone's folder.
//!
//! Nothing here is run: settings are listed with includes off. Commands that a clone configures
//! are overridden or never reached (see [`super`]) and counted; what reaches outside cannot be
//! switched off in git and makes a clone unusable.

use std::fs;
use std::path::{Path, PathBuf};

use super::Repository;
use crate::error::DataError;

/// Settings, in lower case, whose value is a program or leads to one: whole keys, and the last
/// part of keys with a name in the middle (`filter.NAME.clean`).
const KEYS: [&str; 16] = [
    "core.fsmonitor",
    "core.hookspath",
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "gpg.program",
    "credential.helper",
    "sequence.editor",
    "uploadpack.packobjectshook",
    "interactive.difffilter",
    "sendemail.smtpserver",
    "init.templatedir",
];
const FAMILIES: [(&str, &[&str]); 9] = [
    ("alias.", &[]),
    ("pager.", &[]),
    ("filter.", &["clean", "smudge", "process"]),
    ("diff.", &["command", "textconv"]),
    ("merge.", &["driver"]),
    ("difftool.", &["cmd", "path"]),
    ("mergetool.", &["cmd", "path"]),
    ("remote.", &["uploadpack", "receivepack", "vcs"]),
    ("credential.", &["helper"]),
];

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suspicions {
    /// Keys of settings that name a program; sorted, each once.
    pub commands: Vec<String>,
    /// Names of hooks that git could run; sorted. Samples do not count.
    pub hooks: Vec<String>,
    /// What lies outside the clone and would be read, if anything.
    pub outside: Option<String>,
}

impl Repository {
    /// Looks a clone over.
    ///
    /// # Errors
    /// If git cannot be started, or the clone's configuration cannot be read.
    pub fn suspicions(&self) -> Result<Suspicions, DataError> {
        // Listed from the file, not through the repository, whose own includes would be followed.
        let common = common_folder(self.git_dir());
        let config = common.join("config");
        let mut found = Suspicions::default();
        if config.is_file() {
            let Some(config) = config.to_str() else {
                return Err(DataError::NotARepository { path: self.path().to_path_buf() });
            };
            let list =
                ["config", "--file", config, "--no-includes", "--null", "--name-only", "--list"];
            let answer = self.run_outside(&list)?;
            for key in answer.split(|&byte| byte == 0) {
                let key = String::from_utf8_lossy(key).to_lowercase();
                if key.starts_with("include.") || key.starts_with("includeif.") {
                    found.outside = Some(format!("the setting {key}"));
                } else if names_program(&key) {
                    found.commands.push(key);
                }
            }
        }
        found.commands.sort();
        found.commands.dedup();
        found.hooks = hooks(&common.join("hooks"));
        let objects = common.join("objects");
        let alternates = objects.join("info/alternates");
        if fs::metadata(&alternates).is_ok_and(|meta| meta.len() > 0) {
            found.outside = Some("objects/info/alternates".to_owned());
        }
        if is_link(&objects) || has_link(&objects.join("pack")) {
            found.outside = Some("a symbolic link in objects".to_owned());
        }
        Ok(found)
    }

    /// # Errors
    /// [`DataError::ReachesOutside`] if the clone does.
    pub(crate) fn refuse_outside(&self, found: &Suspicions) -> Result<(), DataError> {
        match &found.outside {
            None => Ok(()),
            Some(what) => Err(DataError::ReachesOutside {
                path: self.path().to_path_buf(),
                what: what.clone(),
            }),
        }
    }
}

fn names_program(key: &str) -> bool {
    KEYS.contains(&key)
        || FAMILIES.iter().any(|(start, ends)| {
            let rest = key.strip_prefix(start);
            rest.is_some_and(|rest| {
                ends.is_empty() || rest.rsplit('.').next().is_some_and(|end| ends.contains(&end))
            })
        })
}

/// The folder that a linked work tree shares with its repository; the git folder itself for all
/// others.
fn common_folder(git_dir: &Path) -> PathBuf {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let own = match read(git_dir).as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(target) => git_dir.parent().unwrap_or(Path::new(".")).join(target.trim()),
        None => git_dir.to_path_buf(),
    };
    match read(&own.join("commondir")) {
        Some(target) => own.join(target.trim()),
        None => own,
    }
}

fn hooks(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".sample")).collect();
    names.sort();
    names
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

fn has_link(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    is_link(folder) || entries.map(|entry| entry.path()).any(|path| is_link(&path))
}

#[cfg(test)]
mod tests {
    use super::names_program;

    #[test]
    fn keys() {
        for key in
            ["core.fsmonitor", "filter.a.b.clean", "alias.co", "diff.x.textconv", "remote.o.vcs"]
        {
            assert!(names_program(key), "{key}");
        }
        for key in
            ["core.bare", "remote.origin.url", "filter.x.required", "diff.renames", "user.name"]
        {
            assert!(!names_program(key), "{key}");
        }
    }
}
