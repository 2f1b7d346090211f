//! `swerl plan`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::run::swerl;

const CONFIG: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "vocab_size": 10, "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 16,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true}"#;

/// Tensors that the configuration asks for.
const TENSORS: [(&str, &[usize]); 11] = [
    ("model.embed_tokens.weight", &[10, 4]),
    ("model.layers.0.input_layernorm.weight", &[4]),
    ("model.layers.0.post_attention_layernorm.weight", &[4]),
    ("model.layers.0.self_attn.q_proj.weight", &[4, 4]),
    ("model.layers.0.self_attn.k_proj.weight", &[2, 4]),
    ("model.layers.0.self_attn.v_proj.weight", &[2, 4]),
    ("model.layers.0.self_attn.o_proj.weight", &[4, 4]),
    ("model.layers.0.mlp.gate_proj.weight", &[6, 4]),
    ("model.layers.0.mlp.up_proj.weight", &[6, 4]),
    ("model.layers.0.mlp.down_proj.weight", &[4, 6]),
    ("model.norm.weight", &[4]),
];

fn write_weights(path: &Path, tensors: &[(&str, &[usize])]) {
    let mut header = serde_json::Map::new();
    let mut end = 0;
    for (name, shape) in tensors {
        let start = end;
        end += 4 * shape.iter().product::<usize>();
        header.insert(
            (*name).to_owned(),
            json!({"dtype": "F32", "shape": shape, "data_offsets": [start, end]}),
        );
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + end, 0);
    fs::write(path, bytes).expect("the weights can be written");
}

#[test]
fn the_70b_on_eight_devices() {
    let dir = tempdir().unwrap();
    let ran = swerl(dir.path(), &["plan", "--model", "70b", "--devices", "8"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("70553706496 parameters; 80 layers"), "{}", ran.stdout);
    let line = ran.stdout.lines().find(|line| line.starts_with("master weights")).unwrap();
    let figures: Vec<&str> = line.split_whitespace().rev().take(4).collect();
    assert_eq!(figures, ["GB", "105.831", "GB", "846.644"], "{line}");
}

#[test]
fn a_folder_is_checked_by_its_headers() {
    let dir = tempdir().unwrap();
    let model = dir.path().join("model");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("config.json"), CONFIG).unwrap();
    write_weights(&model.join("model.safetensors"), &TENSORS);
    let args = ["plan", "--model", "model", "--precision", "f32", "--json"];
    let ran = swerl(dir.path(), &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["parameters"], 172);
    assert_eq!(report["stored"]["tensors"], 11);
    assert_eq!(report["stored"]["dtypes"], json!(["F32"]));
    assert_eq!(report["parts"][0]["bytes"], 4 * 172);

    // Everything that is wrong, on one line.
    let mut wrong: Vec<(&str, &[usize])> = TENSORS.to_vec();
    wrong[1] = ("model.layers.7.input_layernorm.weight", &[4]);
    wrong[3].1 = &[4, 5];
    write_weights(&model.join("model.safetensors"), &wrong);
    let ran = swerl(dir.path(), &args);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    for part in [
        "model.layers.0.input_layernorm.weight is missing",
        "model.layers.7.input_layernorm.weight is unexpected",
        "q_proj.weight has shape [4, 5], expected [4, 4]",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn an_index_is_held_against_its_files() {
    let dir = tempdir().unwrap();
    let model = dir.path().join("model");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("config.json"), CONFIG).unwrap();
    let (first, second) = TENSORS.split_at(4);
    write_weights(&model.join("a.safetensors"), first);
    write_weights(&model.join("b.safetensors"), second);
    let index = |place: &dyn Fn(usize) -> &'static str| {
        let names = TENSORS.iter().enumerate();
        let map: serde_json::Map<String, Value> =
            names.map(|(at, (name, _))| ((*name).to_owned(), place(at).into())).collect();
        let text = json!({"metadata": {}, "weight_map": map}).to_string();
        fs::write(model.join("model.safetensors.index.json"), text).unwrap();
    };
    let plan = || swerl(dir.path(), &["plan", "--model", "model"]);

    index(&|at| if at < 4 { "a.safetensors" } else { "b.safetensors" });
    let ran = plan();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("11 tensors in 2 file(s)"), "{}", ran.stdout);

    index(&|at| if at < 5 { "a.safetensors" } else { "b.safetensors" });
    let ran = plan();
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("k_proj.weight is not in a.safetensors"), "{}", ran.stderr);

    index(&|at| if at < 4 { "a.safetensors" } else { "../b.safetensors" });
    assert!(plan().stderr.contains("is not a file name in the folder"));
    index(&|at| if at < 4 { "a.safetensors" } else { "c.safetensors" });
    let ran = plan();
    assert!(ran.stderr.contains("c.safetensors"), "{}", ran.stderr);
}
