//! Model configuration: the part of a Hugging Face `config.json` that decides the arithmetic.
//!
//! `LlamaForCausalLM` (Llama 2 to 3.3) and `Qwen2ForCausalLM` (Qwen2 and 2.5) are accepted: one decoder,
//! which in Qwen2 adds a bias to queries, keys and values. An option that would change the result and
//! that this crate does not compute (other biases, another activation, a sliding window, quantised
//! weights, an unknown rope scaling) is an error that names it; nothing of that kind is ignored.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;

/// Rope scaling of Llama 3.1 and later: long wavelengths are stretched by `factor`, short ones
/// kept, those between interpolated. Source: the Llama 3.1 model card and its reference code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Llama3Rope {
    /// Stretch of wavelengths beyond `original_max_position_embeddings / low_freq_factor`; > 0.
    pub factor: f64,
    /// Lower bound of the interpolated band, in periods per original context.
    pub low_freq_factor: f64,
    /// Upper bound of the interpolated band, in periods per original context.
    pub high_freq_factor: f64,
    /// Context length of pretraining, in tokens.
    pub original_max_position_embeddings: usize,
}

/// Shape and constants of a Llama-family decoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Entries of the vocabulary.
    pub vocab_size: usize,
    /// Width `d` of the residual stream.
    pub hidden_size: usize,
    /// Width of the SwiGLU MLP.
    pub intermediate_size: usize,
    /// Number of decoder blocks.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Epsilon inside the RMSNorm's square root.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Scaling of the rotary frequencies; `None` for plain RoPE.
    pub rope_scaling: Option<Llama3Rope>,
    /// Longest position the model was made for, in tokens.
    pub max_position_embeddings: usize,
    /// Whether the output head is the transposed embedding.
    pub tie_word_embeddings: bool,
    /// Whether queries, keys and values have a bias; this makes it a Qwen2.
    #[serde(default)]
    pub qkv_bias: bool,
    /// Ids that end a text.
    pub eos_token_ids: Vec<u32>,
}

/// `eos_token_id` is a number or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(u32),
    Many(Vec<u32>),
}

#[derive(Deserialize)]
struct RawRope {
    #[serde(alias = "type")]
    rope_type: Option<String>,
    rope_theta: Option<f64>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<usize>,
    partial_rotary_factor: Option<f64>,
}

#[derive(Deserialize)]
struct RawConfig {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_scaling: Option<RawRope>,
    rope_parameters: Option<RawRope>,
    max_position_embeddings: usize,
    #[serde(default)]
    tie_word_embeddings: bool,
    eos_token_id: Option<OneOrMany>,
    hidden_act: Option<String>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    layer_types: Option<Vec<String>>,
    partial_rotary_factor: Option<f64>,
    quantization_config: Option<serde_json::Value>,
}

impl ModelConfig {
    /// The shape of Llama-3.3-70B-Instruct: 70,553,706,496 parameters.
    pub fn llama_3_3_70b() -> Self {
        Self {
            vocab_size: 128_256,
            hidden_size: 8192,
            intermediate_size: 28_672,
            num_hidden_layers: 80,
            num_attention_heads: 64,
            num_key_value_heads: 8,
            head_dim: 128,
            rms_norm_eps: 1e-5,
            rope_theta: 500_000.0,
            rope_scaling: Some(Llama3Rope {
                factor: 8.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_max_position_embeddings: 8192,
            }),
            max_position_embeddings: 131_072,
            tie_word_embeddings: false,
            qkv_bias: false,
            eos_token_ids: vec![128_001, 128_008, 128_009],
        }
    }

    /// Reads `config.json` of a Hugging Face folder.
    ///
    /// # Errors
    /// The file is missing or malformed, names another architecture, or sets an option this
    /// crate does not compute.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ModelError::Read { path: path.clone(), source })?;
        Self::from_json(&text).map_err(|problem| match problem {
            Problem::Json(source) => ModelError::Json { path, source },
            Problem::Option(reason) => ModelError::Config { path, reason },
        })
    }

    /// Number of parameters, tied entries counted once.
    pub fn parameters(&self) -> u64 {
        let (d, f) = (self.hidden_size as u64, self.intermediate_size as u64);
        let q = (self.num_attention_heads * self.head_dim) as u64;
        let kv = (self.num_key_value_heads * self.head_dim) as u64;
        let bias = if self.qkv_bias { q + 2 * kv } else { 0 };
        let block = 2 * d * q + 2 * d * kv + bias + 3 * d * f + 2 * d;
        let embedding = self.vocab_size as u64 * d;
        let heads = if self.tie_word_embeddings { 1 } else { 2 };
        self.num_hidden_layers as u64 * block + heads * embedding + d
    }

    /// Checks what the decoder relies on.
    ///
    /// # Errors
    /// A sentence that names the offending option.
    pub fn validate(&self) -> Result<(), String> {
        let (h, kv) = (self.num_attention_heads, self.num_key_value_heads);
        if h == 0 || kv == 0 || !h.is_multiple_of(kv) {
            return Err(format!(
                "num_attention_heads {h} is not a multiple of num_key_value_heads {kv}"
            ));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(format!("head_dim {} is not a positive even number", self.head_dim));
        }
        if self.vocab_size == 0 || self.hidden_size == 0 || self.intermediate_size == 0 {
            return Err("vocab_size, hidden_size and intermediate_size must be positive".into());
        }
        if !(self.rms_norm_eps > 0.0 && self.rope_theta > 0.0) {
            return Err("rms_norm_eps and rope_theta must be positive".into());
        }
        Ok(())
    }

    /// The `config.json` of this model, as `transformers` reads it. `dtype` is `"float32"` or
    /// `"bfloat16"`.
    pub fn to_json(&self, dtype: &str) -> String {
        let mut rope = serde_json::json!({ "rope_type": "default", "rope_theta": self.rope_theta });
        if let Some(s) = &self.rope_scaling {
            rope = serde_json::json!({
                "rope_type": "llama3", "rope_theta": self.rope_theta, "factor": s.factor,
                "low_freq_factor": s.low_freq_factor, "high_freq_factor": s.high_freq_factor,
                "original_max_position_embeddings": s.original_max_position_embeddings,
            });
        }
        let scaling = self.rope_scaling.as_ref().map(|_| rope.clone());
        let (architecture, model_type) =
            if self.qkv_bias { (QWEN2, "qwen2") } else { (LLAMA, "llama") };
        let mut value = serde_json::json!({
            "architectures": [architecture], "model_type": model_type,
            "vocab_size": self.vocab_size, "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads, "head_dim": self.head_dim,
            "hidden_act": "silu", "rms_norm_eps": self.rms_norm_eps, "rope_theta": self.rope_theta,
            "rope_parameters": rope,
            "rope_scaling": scaling,
            "max_position_embeddings": self.max_position_embeddings,
            "tie_word_embeddings": self.tie_word_embeddings,
            "eos_token_id": self.eos_token_ids, "bos_token_id": null,
            "dtype": dtype, "torch_dtype": dtype, "use_cache": true,
        });
        if self.qkv_bias {
            value["use_sliding_window"] = false.into();
        } else {
            value["attention_bias"] = false.into();
            value["mlp_bias"] = false.into();
        }
        format!("{value:#}\n")
    }

    fn from_json(text: &str) -> Result<Self, Problem> {
        let raw: RawConfig = serde_json::from_str(text).map_err(Problem::Json)?;
        let refuse = |reason: String| Err(Problem::Option(reason));
        let architecture = raw.architectures.as_deref().and_then(|a| a.first().cloned());
        let qkv_bias = match (architecture.as_deref(), raw.model_type.as_deref()) {
            (Some(LLAMA), _) | (None, Some("llama")) => false,
            (Some(QWEN2), _) | (None, Some("qwen2")) => true,
            (a, m) => {
                let name = a.or(m).unwrap_or("none");
                return refuse(format!(
                    "architecture {name} is not supported; {LLAMA} and {QWEN2} are"
                ));
            }
        };
        if raw.attention_bias || raw.mlp_bias {
            return refuse("attention_bias and mlp_bias are not supported".into());
        }
        if raw.use_sliding_window {
            return refuse("use_sliding_window is not supported".into());
        }
        if let Some(kind) = raw.layer_types.iter().flatten().find(|k| *k != "full_attention") {
            return refuse(format!("layer type {kind} is not supported; full_attention is"));
        }
        if raw.quantization_config.is_some_and(|q| !q.is_null()) {
            return refuse(
                "quantization_config: quantised weights are not read; use the f32, f16 or bf16 ones"
                    .into(),
            );
        }
        if let Some(act) = raw.hidden_act.filter(|a| a != "silu") {
            return refuse(format!("hidden_act {act} is not supported; silu is"));
        }
        let rope = raw.rope_parameters.or(raw.rope_scaling);
        let partial = rope.as_ref().and_then(|r| r.partial_rotary_factor);
        if let Some(share) = raw.partial_rotary_factor.or(partial).filter(|&share| share != 1.0) {
            return refuse(format!("partial_rotary_factor {share} is not supported; 1 is"));
        }
        let theta = raw.rope_theta.or(rope.as_ref().and_then(|r| r.rope_theta)).unwrap_or(10_000.0);
        let rope_scaling = match rope {
            None => None,
            Some(r) => match r.rope_type.as_deref() {
                None | Some("default") => None,
                Some("llama3") => Some(Llama3Rope {
                    factor: required(r.factor, "rope factor")?,
                    low_freq_factor: required(r.low_freq_factor, "rope low_freq_factor")?,
                    high_freq_factor: required(r.high_freq_factor, "rope high_freq_factor")?,
                    original_max_position_embeddings: required(
                        r.original_max_position_embeddings,
                        "rope original_max_position_embeddings",
                    )?,
                }),
                Some(other) => {
                    return refuse(format!(
                        "rope_type {other} is not supported; default and llama3 are"
                    ));
                }
            },
        };
        if raw.num_attention_heads == 0 {
            return refuse("num_attention_heads is 0".into());
        }
        let config = Self {
            vocab_size: raw.vocab_size,
            hidden_size: raw.hidden_size,
            intermediate_size: raw.intermediate_size,
            num_hidden_layers: raw.num_hidden_layers,
            num_attention_heads: raw.num_attention_heads,
            num_key_value_heads: raw.num_key_value_heads.unwrap_or(raw.num_attention_heads),
            head_dim: raw.head_dim.unwrap_or(raw.hidden_size / raw.num_attention_heads),
            rms_norm_eps: raw.rms_norm_eps,
            rope_theta: theta,
            rope_scaling,
            max_position_embeddings: raw.max_position_embeddings,
            tie_word_embeddings: raw.tie_word_embeddings,
            qkv_bias,
            eos_token_ids: match raw.eos_token_id {
                None => Vec::new(),
                Some(OneOrMany::One(id)) => vec![id],
                Some(OneOrMany::Many(ids)) => ids,
            },
        };
        config.validate().map_err(Problem::Option)?;
        Ok(config)
    }
}

#[cfg(all(test, feature = "flex"))]
impl ModelConfig {
    pub(crate) fn small() -> Self {
        Self {
            vocab_size: 50,
            hidden_size: 24,
            intermediate_size: 20,
            num_hidden_layers: 2,
            num_attention_heads: 6,
            num_key_value_heads: 2,
            head_dim: 10,
            ..Self::llama_3_3_70b()
        }
    }
}

const LLAMA: &str = "LlamaForCausalLM";
const QWEN2: &str = "Qwen2ForCausalLM";

enum Problem {
    Json(serde_json::Error),
    Option(String),
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::Option(format!("{name} is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_70b_has_its_published_parameter_count() {
        assert_eq!(ModelConfig::llama_3_3_70b().parameters(), 70_553_706_496);
    }

    #[test]
    fn json_round_trips() {
        let llama = ModelConfig::llama_3_3_70b();
        let qwen = ModelConfig { qkv_bias: true, rope_scaling: None, ..llama.clone() };
        for config in [llama, qwen] {
            let text = config.to_json("bfloat16");
            let Ok(back) = ModelConfig::from_json(&text) else { panic!("own json is read") };
            assert_eq!(back, config);
        }
    }

    /// The published shape of Qwen2.5-0.5B: 494,032,768 parameters.
    #[test]
    fn biases_are_counted() {
        let config = ModelConfig {
            vocab_size: 151_936,
            hidden_size: 896,
            intermediate_size: 4864,
            num_hidden_layers: 24,
            num_attention_heads: 14,
            num_key_value_heads: 2,
            head_dim: 64,
            tie_word_embeddings: true,
            qkv_bias: true,
            ..ModelConfig::llama_3_3_70b()
        };
        assert_eq!(config.parameters(), 494_032_768);
    }

    #[test]
    fn options_that_change_the_result_are_refused_by_name() {
        let base = ModelConfig::llama_3_3_70b().to_json("float32");
        for (from, to, named) in [
            ("LlamaForCausalLM", "MistralForCausalLM", "MistralForCausalLM"),
            ("\"attention_bias\": false", "\"attention_bias\": true", "attention_bias"),
            ("\"silu\"", "\"gelu\"", "gelu"),
            ("\"use_cache\"", "\"use_sliding_window\": true, \"use_cache\"", "sliding_window"),
            ("\"use_cache\"", "\"layer_types\": [\"linear\"], \"use_cache\"", "linear"),
            ("\"use_cache\"", "\"quantization_config\": {}, \"use_cache\"", "quantization_config"),
            ("\"use_cache\"", "\"partial_rotary_factor\": 0.5, \"use_cache\"", "factor 0.5"),
            ("\"llama3\"", "\"yarn\"", "yarn"),
            ("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7", "num_key_value_heads 7"),
        ] {
            let Err(Problem::Option(reason)) = ModelConfig::from_json(&base.replace(from, to))
            else {
                panic!("{to} is refused")
            };
            assert!(reason.contains(named), "{reason}");
        }
    }
}
