//! Engines that follow a policy: before sampling for weights that they do not hold, these are
//! written, loaded and proved.

use std::error::Error;
#[cfg(any(feature = "local", test))]
use std::path::{Path, PathBuf};

use super::error::EngineError;
use super::sync::{Probe, WeightUpdate};
use super::{EngineInfo, EngineSampler};
use crate::codec::TextCodec;
use crate::completion::Completion;
use crate::error::SampleError;
use crate::observer::RolloutObserver;
use crate::sampler::{SampleRequest, Sampler};

/// How a policy of type `P` reaches engines.
pub trait EngineWeights<P: ?Sized> {
    /// Writes the weights of `version` where every engine can read them. What it names must be whole:
    /// written aside, synced, renamed.
    ///
    /// # Errors
    /// Whatever kept them from being written.
    fn write(
        &mut self,
        policy: &P,
        version: u64,
    ) -> Result<WeightUpdate, Box<dyn Error + Send + Sync>>;

    /// Natural log-probs of `ids[1..]` under the policy, temperature 1.
    ///
    /// # Errors
    /// Whatever kept them from being computed.
    fn log_probs(&self, policy: &P, ids: &[u32]) -> Result<Vec<f32>, Box<dyn Error + Send + Sync>>;
}

/// A [`Sampler`] that loads the policy's weights into the engines when their version changes.
///
/// The version is that of the request, so groups of step `k` come from the weights of step `k`. An
/// engine that was restarted holds its first weights again; its answers say so, the weights are
/// loaded once more, and the request is repeated from its start with the same seeds.
#[derive(Debug)]
pub struct SyncedEngine<C, W> {
    engine: EngineSampler<C>,
    weights: W,
    probe: Vec<u32>,
    tolerance: f32,
}

impl<C: TextCodec, W> SyncedEngine<C, W> {
    /// `probe` is the text whose log-probs are compared after each load, each within `tolerance`
    /// ([`Probe::tolerance`]).
    ///
    /// # Errors
    /// [`EngineError::Settings`] when the probe has fewer than two tokens.
    pub fn new(
        engine: EngineSampler<C>,
        weights: W,
        probe: &str,
        tolerance: f32,
    ) -> Result<Self, EngineError> {
        let probe = engine.codec.encode(probe);
        if probe.len() < 2 {
            let problem = "the text has fewer than two tokens".to_owned();
            return Err(EngineError::Settings { field: "probe", problem });
        }
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            let problem = format!("it is {tolerance}, it must be finite, at least 0");
            return Err(EngineError::Settings { field: "tolerance", problem });
        }
        Ok(Self { engine, weights, probe, tolerance })
    }

    /// What was found out about the engines.
    pub fn info(&self) -> &EngineInfo {
        self.engine.info()
    }

    fn follow<P: ?Sized>(&mut self, policy: &P, version: u64) -> Result<(), EngineError>
    where
        W: EngineWeights<P>,
    {
        let failed = |action| move |source| EngineError::Policy { action, source };
        let log_probs = self.weights.log_probs(policy, &self.probe).map_err(failed("scored"))?;
        let update = self.weights.write(policy, version).map_err(failed("written"))?;
        let probe = Probe { ids: self.probe.clone(), log_probs, tolerance: self.tolerance };
        self.engine.load(&update, version, &probe)
    }
}

impl<P: ?Sized, C: TextCodec, W: EngineWeights<P>> Sampler<P> for SyncedEngine<C, W> {
    fn sample(
        &mut self,
        policy: &P,
        request: &SampleRequest<'_>,
        observer: &mut dyn RolloutObserver,
    ) -> Result<Vec<Vec<Completion>>, SampleError> {
        let version = request.weights_version;
        if self.engine.loaded() != Some(version) {
            self.follow(policy, version)?;
        }
        match self.engine.groups(request, observer) {
            Err(SampleError::Engine { source }) if matches!(*source, EngineError::Stale { .. }) => {
                self.follow(policy, version)?;
                self.engine.groups(request, observer)
            }
            result => result,
        }
    }
}

/// Folders of safetensors for [`swerl_model::CausalLm`], one a version, the oldest deleted.
#[cfg(feature = "local")]
#[derive(Debug, Clone)]
pub struct ModelFolders {
    root: PathBuf,
    dtype: swerl_model::StoredDtype,
    keep: usize,
}

#[cfg(feature = "local")]
impl ModelFolders {
    /// Folders `step-NNNNNNNN` in `root`, a path that the engines see too; the newest `keep` stay, at
    /// least one.
    #[must_use]
    pub fn new(root: &Path, dtype: swerl_model::StoredDtype, keep: usize) -> Self {
        Self { root: root.to_owned(), dtype, keep: keep.max(1) }
    }
}

#[cfg(feature = "local")]
impl EngineWeights<swerl_model::CausalLm> for ModelFolders {
    fn write(
        &mut self,
        policy: &swerl_model::CausalLm,
        version: u64,
    ) -> Result<WeightUpdate, Box<dyn Error + Send + Sync>> {
        let folder = self.root.join(format!("step-{version:08}"));
        let at = |action, path: &Path| {
            let path = path.to_owned();
            move |source| EngineError::Folder { action, path, source }
        };
        std::fs::create_dir_all(&self.root).map_err(at("create", &self.root))?;
        if folder.exists() {
            // Left by a run that was interrupted, whose weights may have been others.
            std::fs::remove_dir_all(&folder).map_err(at("delete", &folder))?;
        }
        policy.save_folder(&folder, self.dtype, None)?;
        for old in older(&self.root, self.keep).map_err(at("list", &self.root))? {
            std::fs::remove_dir_all(&old).map_err(at("delete", &old))?;
        }
        Ok(WeightUpdate::Folder(folder))
    }

    fn log_probs(
        &self,
        policy: &swerl_model::CausalLm,
        ids: &[u32],
    ) -> Result<Vec<f32>, Box<dyn Error + Send + Sync>> {
        use swerl_grpo::{Policy, Sequence};
        let sequence = Sequence::supervised(&ids[..1], &ids[1..]);
        let batch = swerl_grpo::batch::TokenBatch::from_sequences(&[sequence], None, 1.0)?;
        Ok(policy.score(&batch)?.to_host()?.0)
    }
}

/// The folders of `root` but for the newest `keep`, by name.
#[cfg(any(feature = "local", test))]
fn older(root: &Path, keep: usize) -> std::io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("step-"));
        if number.is_some_and(|n| n.len() == 8 && n.bytes().all(|b| b.is_ascii_digit())) {
            folders.push(path);
        }
    }
    folders.sort_unstable();
    folders.truncate(folders.len().saturating_sub(keep));
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_folders_stay() {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["step-00000001", "step-00000012", "step-00000003", "step-1.tmp", "other"] {
            std::fs::create_dir(root.path().join(name)).expect("creates");
        }
        let old = older(root.path(), 2).expect("lists");
        assert_eq!(old, [root.path().join("step-00000001")]);
        assert!(older(root.path(), 9).expect("lists").is_empty());
        assert!(older(&root.path().join("absent"), 1).is_err());
    }
}
