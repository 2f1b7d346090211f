//! The policy a run starts from, and how it is saved.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use swerl_model::{CausalLm, ModelConfig, StoredDtype, Tokenizer};

use super::config::ModelSection;

/// A policy on an autodiff device, and its tokenizer.
pub struct Start {
    /// The policy.
    pub model: CausalLm,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// What a checkpoint remembers it by.
    pub name: String,
    tokenizer_json: String,
    base: String,
}

impl Start {
    /// Loads the policy of `section`; random weights and updates are drawn by `seed`.
    ///
    /// # Errors
    /// A backend that is not in this build, a folder that is not a model.
    pub fn load(section: &ModelSection, seed: u64) -> Result<Self> {
        let device = section.backend.device()?;
        let tokenizer = Tokenizer::from_folder(&section.path)?;
        let tokenizer_json = tokenizer.to_json()?;
        let training = device.clone().autodiff();
        let base = section.path.display().to_string();
        device.seed(seed);
        let (model, name) = if section.from_scratch {
            let config = ModelConfig::from_folder(&section.path)?;
            (CausalLm::new(&config, &training), "random weights".to_owned())
        } else {
            (CausalLm::from_folder(&section.path, &training)?, base.clone())
        };
        let (model, name) = match &section.lora {
            Some(lora) => (model.with_lora(lora), format!("{name} {lora:?}")),
            None => (model, name),
        };
        Ok(Self { model, tokenizer: Arc::new(tokenizer), name, tokenizer_json, base })
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Writes `trained` to `folder` unless it is there: a Hugging Face folder, or a PEFT folder of the
    /// updates where those were trained.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, trained: &CausalLm, folder: &Path, lora: bool) -> Result<()> {
        if folder.exists() {
            return Ok(());
        }
        if lora {
            trained.save_lora(folder, Some(&self.base))?;
        } else {
            trained.save_folder(folder, StoredDtype::F32, Some(&self.tokenizer_json))?;
        }
        Ok(())
    }
}
