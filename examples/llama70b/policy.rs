//! The policy to start from: the embedded base model, a folder, or noise.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burn::tensor::Device;
use swerl_model::{CausalLm, ModelConfig, Tokenizer};

use crate::arguments::Arguments;

/// The base model that comes with the examples.
pub(crate) fn embedded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("base-model")
}

/// A policy on an autodiff device, and its tokenizer.
pub(crate) struct Start {
    pub(crate) model: CausalLm,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) tokenizer_json: String,
    pub(crate) name: String,
}

/// Loads the policy `arguments` ask for.
pub(crate) fn load(arguments: &Arguments, device: &Device) -> Result<Start> {
    let folder = arguments.model.clone().unwrap_or_else(embedded);
    let tokenizer = Tokenizer::from_folder(&folder)?;
    let tokenizer_json = tokenizer.to_json()?;
    let training = device.clone().autodiff();
    let (model, name) = if arguments.from_scratch {
        let config = ModelConfig::from_folder(&folder)?;
        device.seed(arguments.seed);
        (CausalLm::new(&config, &training), "random weights".to_owned())
    } else {
        let name = match &arguments.model {
            Some(path) => path.display().to_string(),
            None => "the embedded base model".to_owned(),
        };
        (CausalLm::from_folder(&folder, &training)?, name)
    };
    Ok(Start { model, tokenizer, tokenizer_json, name })
}
