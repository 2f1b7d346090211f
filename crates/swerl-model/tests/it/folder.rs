//! Hugging Face folders: what is written is read back, and every damage is named.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use swerl_grpo::batch::Row;
use swerl_model::{CausalLm, StoredDtype};

use crate::tiny::{batch, close, model, scores, tokens};

fn load(folder: &Path) -> Result<CausalLm, String> {
    CausalLm::from_folder(folder, &Device::flex()).map_err(|e| e.to_string())
}

#[test]
fn a_saved_model_is_the_same_model() {
    for (tied, dtype, tolerance) in [
        (true, StoredDtype::F32, 1e-7),
        (false, StoredDtype::F32, 1e-7),
        (true, StoredDtype::Bf16, 0.2),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("m");
        let model = model(tied);
        model.save_folder(&folder, dtype, None).unwrap();
        let again = load(&folder).unwrap();
        let batch = batch(vec![Row::plain(tokens(30, 1))]);
        close(&scores(&model, &batch).0, &scores(&again, &batch).0, tolerance);
        assert!(model.save_folder(&folder, dtype, None).is_err(), "an existing folder is kept");
        assert!(!dir.path().join("m.tmp").exists());
    }
}

#[track_caller]
fn refused(change: impl Fn(&Path), named: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("m");
    model(true).save_folder(&folder, StoredDtype::F32, None).unwrap();
    change(&folder);
    let Err(message) = load(&folder) else { panic!("{named:?} is refused") };
    for part in named {
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

fn edit_config(folder: &Path, from: &str, to: &str) {
    let path = folder.join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Rewrites the header of the weights, keeping its length.
fn edit_header(folder: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let path = folder.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect("it is there");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_named() {
    refused(|f| fs::remove_file(f.join("config.json")).unwrap(), &["config.json"]);
    refused(|f| fs::remove_file(f.join("model.safetensors")).unwrap(), &["model.safetensors"]);
    refused(|f| fs::write(f.join("config.json"), "{").unwrap(), &["config.json"]);
    refused(
        |f| {
            edit_header(
                f,
                "model.layers.1.mlp.up_proj.weight",
                "model.layers.7.mlp.up_proj.weight",
            );
        },
        &[
            "model.layers.1.mlp.up_proj.weight is missing",
            "model.layers.7.mlp.up_proj.weight is unexpected",
        ],
    );
    refused(
        |f| edit_config(f, "\"vocab_size\": 61", "\"vocab_size\": 60"),
        &["embed_tokens", "[61, 24]", "[60, 24]"],
    );
    refused(
        |f| {
            let path = f.join("model.safetensors");
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 100]).unwrap();
        },
        &["truncated or damaged"],
    );
    refused(
        |f| {
            let path = f.join("model.safetensors");
            let mut bytes = fs::read(&path).unwrap();
            bytes[..8].copy_from_slice(&(1u64 << 60).to_le_bytes());
            fs::write(path, bytes).unwrap();
        },
        &["the header claims"],
    );
    refused(
        |f| {
            let path = f.join("model.safetensors");
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len();
            bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
            fs::write(path, bytes).unwrap();
        },
        &["not finite"],
    );
    refused(
        |f| {
            fs::rename(f.join("model.safetensors"), f.join("elsewhere")).unwrap();
            let index = r#"{"weight_map": {"model.norm.weight": "../elsewhere"}}"#;
            fs::write(f.join("model.safetensors.index.json"), index).unwrap();
        },
        &["../elsewhere", "not a file name"],
    );
}

#[test]
fn shards_are_found_through_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("m");
    model(true).save_folder(&folder, StoredDtype::F32, None).unwrap();
    fs::rename(folder.join("model.safetensors"), folder.join("part.safetensors")).unwrap();
    let index = r#"{"weight_map": {"model.norm.weight": "part.safetensors"}}"#;
    fs::write(folder.join("model.safetensors.index.json"), index).unwrap();
    load(&folder).unwrap();
}
