//! Updates as PEFT keeps them: `adapter_config.json` and `adapter_model.safetensors`.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::{DType, Tensor, TensorData};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LoraConfig, LoraTarget};
use crate::causal_lm::CausalLm;
use crate::error::ModelError;
use crate::weights::{Shard, transpose, write_folder};

/// The part of `adapter_config.json` that decides the arithmetic.
#[derive(Serialize, Deserialize)]
struct AdapterConfig {
    peft_type: String,
    r: usize,
    lora_alpha: f64,
    target_modules: Vec<String>,
    #[serde(default)]
    base_model_name_or_path: Option<String>,
    #[serde(default)]
    bias: Option<String>,
    #[serde(default)]
    fan_in_fan_out: bool,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    use_dora: bool,
    #[serde(default)]
    task_type: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Options that change the result, and are empty in plain LoRA.
const REFUSED: [&str; 13] = [
    "alora_invocation_tokens",
    "layer_replication",
    "lora_bias",
    "use_bdlora",
    "use_qalora",
    "velora_config",
    "modules_to_save",
    "layers_to_transform",
    "rank_pattern",
    "alpha_pattern",
    "exclude_modules",
    "target_parameters",
    "trainable_token_indices",
];

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn name(block: usize, target: LoraTarget, part: char) -> String {
    format!("base_model.model.model.layers.{block}.{}.lora_{part}.weight", target.path())
}

impl CausalLm {
    /// Writes the updates as a PEFT folder in f32; `base` names the model they belong to. As
    /// [`CausalLm::save_folder`], aside first.
    ///
    /// # Errors
    /// A file cannot be written, `folder` exists, or the model has no updates.
    pub fn save_lora(&self, folder: &Path, base: Option<&str>) -> Result<(), ModelError> {
        let mut model = self.clone();
        let mut stored = Vec::new();
        let mut targets: Vec<LoraTarget> = Vec::new();
        let (mut rank, mut alpha) = (0, 0.0);
        for (block, target, update) in model.updates() {
            targets.push(target);
            rank = update.a.dims()[1];
            alpha = update.scale * rank as f64;
            for (part, tensor) in [('A', update.a.val()), ('B', update.b.val())] {
                let [rows, columns] = tensor.dims();
                let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
                let values = transpose(&values, rows, columns);
                let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                stored.push((name(block, target, part), vec![columns, rows], bytes));
            }
        }
        if stored.is_empty() {
            let problems = vec!["the model has no LoRA updates to write".to_owned()];
            return Err(ModelError::Weights { path: folder.to_owned(), problems });
        }
        targets.sort_unstable();
        targets.dedup();
        let config = AdapterConfig {
            peft_type: "LORA".into(),
            r: rank,
            lora_alpha: alpha,
            target_modules: targets.iter().map(|t| last_part(t.path()).to_owned()).collect(),
            base_model_name_or_path: base.map(str::to_owned),
            bias: Some("none".into()),
            fan_in_fan_out: false,
            use_rslora: false,
            use_dora: false,
            task_type: Some("CAUSAL_LM".into()),
            rest: BTreeMap::new(),
        };
        let views = stored.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
            (name.as_str(), view.expect("bytes fit the shape"))
        });
        let format = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
        let weights =
            safetensors::serialize(views, Some(format)).expect("names are unique and shapes fit");
        let config = serde_json::to_string_pretty(&config).expect("plain fields") + "\n";
        write_folder(
            folder,
            &[("adapter_config.json", config.as_bytes()), ("adapter_model.safetensors", &weights)],
        )
    }

    /// Freezes the weights and adds the updates of a PEFT folder.
    ///
    /// # Errors
    /// A file is missing or malformed, the configuration asks for more than plain LoRA, or the
    /// tensors are not exactly those it names.
    pub fn load_lora(self, folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("adapter_config.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ModelError::Read { path: path.clone(), source })?;
        let config: AdapterConfig = serde_json::from_str(&text)
            .map_err(|source| ModelError::Json { path: path.clone(), source })?;
        let config = config.plain().map_err(|reason| ModelError::Config { path, reason })?;
        let path = folder.join("adapter_model.safetensors");
        let mut shard = Shard::open(&path)?;
        let mut left: Vec<String> = shard.names().map(str::to_owned).collect();
        let device = self.device();
        let mut model = self.with_lora(&config);
        let mut problems = Vec::new();
        for (block, target, update) in model.updates() {
            for (part, parameter) in [('A', &mut update.a), ('B', &mut update.b)] {
                let name = name(block, target, part);
                let [rows, columns] = parameter.dims();
                let Some(at) = left.iter().position(|found| *found == name) else {
                    problems.push(format!("tensor {name} is missing"));
                    continue;
                };
                left.swap_remove(at);
                let (found, expected) = (shard.shape(&name), [columns, rows]);
                if found != expected {
                    problems
                        .push(format!("tensor {name} has shape {found:?}, expected {expected:?}"));
                    continue;
                }
                let values = shard.read_f32(&name)?;
                if values.iter().any(|v| !v.is_finite()) {
                    problems.push(format!("tensor {name} holds a value that is not finite"));
                    continue;
                }
                let data = TensorData::new(transpose(&values, columns, rows), [rows, columns]);
                let tensor = Tensor::<2>::from_data(data, (&device, DType::F32));
                *parameter = burn::module::Param::from_tensor(tensor);
            }
        }
        left.sort();
        problems.extend(left.iter().map(|name| format!("tensor {name} is unexpected")));
        if problems.is_empty() { Ok(model) } else { Err(ModelError::Weights { path, problems }) }
    }
}

impl AdapterConfig {
    fn plain(self) -> Result<LoraConfig, String> {
        if self.peft_type != "LORA" {
            return Err(format!("peft_type {} is not supported; LORA is", self.peft_type));
        }
        for (set, option) in [
            (self.use_rslora, "use_rslora"),
            (self.use_dora, "use_dora"),
            (self.fan_in_fan_out, "fan_in_fan_out"),
        ] {
            if set {
                return Err(format!("{option} is not supported"));
            }
        }
        if let Some(option) =
            REFUSED.into_iter().find(|&option| !self.rest.get(option).is_none_or(is_empty))
        {
            return Err(format!("{option} is not supported"));
        }
        if let Some(bias) = self.bias.filter(|bias| bias != "none") {
            return Err(format!("bias {bias} is not supported; none is"));
        }
        let target = |name: &String| {
            let known = LoraTarget::ALL.into_iter().find(|t| last_part(t.path()) == name);
            known.ok_or_else(|| format!("target module {name} is not supported"))
        };
        let targets = self.target_modules.iter().map(target).collect::<Result<_, _>>()?;
        let config = LoraConfig { rank: self.r, alpha: self.lora_alpha, targets };
        config.validate().map(|()| config)
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
