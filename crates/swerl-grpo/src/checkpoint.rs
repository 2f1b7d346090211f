//! Checkpoints: folders that are complete or absent, and refuse to resume another run.
//!
//! ```text
//! FOLDER/step-00000012/policy.bpk      burnpack record of the module, parameter ids included
//!                      optimizer.bpk   burnpack record of the optimizer's state
//!                      state.json      version, kind, step, configuration, parameter shapes
//! ```
//! A folder is written as `.tmp-step-...`, its files and itself are synced, and then renamed: a
//! kill at any moment leaves either no such checkpoint or a whole one. Superseded ones are renamed
//! away before they are deleted, for the same reason. Nothing else is kept in memory that would
//! be lost: schedules, data order and noise are functions of the step number.

mod state;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::store::{ModuleRecord, RecordError};

pub use state::{CHECKPOINT_VERSION, CheckpointState, Difference, RunKind, parameter_shapes};
pub(crate) use state::{FNV_START, fnv};

const POLICY: &str = "policy.bpk";
const OPTIMIZER: &str = "optimizer.bpk";
const STATE: &str = "state.json";
/// What the name of a checkpoint that is being deleted begins with.
const RETIRED: &str = ".old-step-";

/// A checkpoint on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCheckpoint {
    /// Its folder.
    pub path: PathBuf,
    /// Number of steps done.
    pub step: u64,
}

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file system.
    #[error("{path}: {action} failed")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A burnpack record.
    #[error("{path}: {action} failed")]
    Record {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: RecordError,
    },
    /// A `state.json` that is not one.
    #[error("{path}: not a checkpoint's state")]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A configuration that has no JSON form.
    #[error("the configuration cannot be written as JSON")]
    Encode {
        /// Why.
        source: serde_json::Error,
    },
    /// A format of another version.
    #[error("{path}: checkpoint version {found}, this program reads version {expected}")]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The version read.
        expected: u32,
    },
    /// A fresh run was pointed at a folder that holds checkpoints.
    #[error("{folder}: it holds checkpoints of an earlier run; resume, or choose an empty folder")]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// A checkpoint of another run: its configuration, model or data differ.
    #[error("{path}: a checkpoint of another run; {}", state::list(differences))]
    Mismatch {
        /// The checkpoint's folder.
        path: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
}

fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> CheckpointError {
    let path = path.to_owned();
    move |source| CheckpointError::Io { path, action, source }
}

fn record(path: &Path, action: &'static str) -> impl FnOnce(RecordError) -> CheckpointError {
    let path = path.to_owned();
    move |source| CheckpointError::Record { path, action, source }
}

/// Writes a checkpoint under `folder`, then deletes all but the `keep` newest.
///
/// Those of later steps are deleted too: they belong to a branch that was left by resuming from
/// an older one, and would pass for the newest.
///
/// # Errors
/// [`CheckpointError`]; nothing half-written carries a checkpoint's name.
pub fn save<M: Module>(
    folder: &Path,
    keep: usize,
    policy: &M,
    optimizer: &ModuleOptimizer,
    state: &CheckpointState,
) -> Result<SavedCheckpoint, CheckpointError> {
    fs::create_dir_all(folder).map_err(io(folder, "creating the folder"))?;
    let path = folder.join(folder_name(state.step));
    let aside = folder.join(format!(".tmp-{}", folder_name(state.step)));
    remove(&aside)?;
    fs::create_dir(&aside).map_err(io(&aside, "creating the folder"))?;

    let file = aside.join(POLICY);
    let written = policy.clone().into_record().save(&file);
    written.map_err(record(&file, "writing the parameters"))?;
    sync(&file)?;
    let file = aside.join(OPTIMIZER);
    optimizer.save(&file).map_err(record(&file, "writing the optimizer"))?;
    sync(&file)?;
    let file = aside.join(STATE);
    let mut text =
        serde_json::to_vec_pretty(state).map_err(|source| CheckpointError::Encode { source })?;
    text.push(b'\n');
    fs::write(&file, text).map_err(io(&file, "writing"))?;
    sync(&file)?;
    sync(&aside)?;

    // The same step again, say after resuming from an older checkpoint: the new one replaces it.
    retire(folder, &path)?;
    fs::rename(&aside, &path).map_err(io(&path, "renaming to it"))?;
    sync(folder)?;
    let (kept, later): (Vec<_>, Vec<_>) =
        list(folder)?.into_iter().partition(|checkpoint| checkpoint.step <= state.step);
    let superseded = &kept[..kept.len().saturating_sub(keep)];
    for old in superseded.iter().chain(&later) {
        retire(folder, &old.path)?;
    }
    sweep(folder)?;
    Ok(SavedCheckpoint { path, step: state.step })
}

/// The complete checkpoints under `folder`, oldest step first; none if there is no such folder.
///
/// # Errors
/// [`CheckpointError::Io`] when the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<SavedCheckpoint>, CheckpointError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(folder, "reading the folder")(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io(folder, "reading the folder"))?;
        let name = entry.file_name();
        let step = name.to_str().and_then(|name| name.strip_prefix("step-"));
        if let Some(step) = step.and_then(|digits| digits.parse().ok()) {
            let path = entry.path();
            if path.join(STATE).is_file() {
                found.push(SavedCheckpoint { path, step });
            }
        }
    }
    found.sort_by_key(|checkpoint| checkpoint.step);
    Ok(found)
}

/// Reads the state of the checkpoint in `path`.
///
/// # Errors
/// [`CheckpointError`] when it is missing, malformed or of another version.
pub fn read_state(path: &Path) -> Result<CheckpointState, CheckpointError> {
    let file = path.join(STATE);
    let text = fs::read(&file).map_err(io(&file, "reading"))?;
    CheckpointState::parse(&file, &text)
}

/// Reads the parameters of the checkpoint in `path` into `policy`.
///
/// # Errors
/// [`CheckpointError::Record`] when the file is damaged or the module has other parameters.
pub fn load_policy<M: Module>(path: &Path, policy: M) -> Result<M, CheckpointError> {
    let file = path.join(POLICY);
    ModuleRecord::load(&file)
        .and_then(|loaded| policy.try_load_record(loaded))
        .map_err(record(&file, "reading the parameters"))
}

/// Reads the optimizer's state of the checkpoint in `path` into `optimizer`.
///
/// # Errors
/// [`CheckpointError::Record`] when the file is damaged.
pub fn load_optimizer(
    path: &Path,
    optimizer: ModuleOptimizer,
) -> Result<ModuleOptimizer, CheckpointError> {
    let file = path.join(OPTIMIZER);
    optimizer.load(&file).map_err(record(&file, "reading the optimizer"))
}

fn folder_name(step: u64) -> String {
    format!("step-{step:08}")
}

/// Deletes what a process that was killed while it deleted a checkpoint has left.
fn sweep(folder: &Path) -> Result<(), CheckpointError> {
    for entry in fs::read_dir(folder).map_err(io(folder, "reading the folder"))? {
        let entry = entry.map_err(io(folder, "reading the folder"))?;
        if entry.file_name().to_string_lossy().starts_with(RETIRED) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Takes a checkpoint's name away, then deletes it.
fn retire(folder: &Path, path: &Path) -> Result<(), CheckpointError> {
    if !path.exists() {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let gone = folder.join(format!(".old-{name}"));
    remove(&gone)?;
    fs::rename(path, &gone).map_err(io(path, "renaming"))?;
    remove(&gone)
}

fn remove(path: &Path) -> Result<(), CheckpointError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io(path, "deleting")(error))
        }
        _ => Ok(()),
    }
}

/// Flushes a file or, where the system can, a folder to the disk.
fn sync(path: &Path) -> Result<(), CheckpointError> {
    if cfg!(not(unix)) && path.is_dir() {
        return Ok(());
    }
    File::open(path).and_then(|file| file.sync_all()).map_err(io(path, "syncing"))
}
