//! `swerl plan`: a model folder checked by its headers, and what a run of it holds in memory.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use swerl_model::{MemoryPart, MemoryPlan, ModelConfig, Precision, StoredTensors, Workload};

use crate::cli::{PlanArgs, PrecisionName};

#[derive(Serialize)]
struct Report {
    parameters: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<Stored>,
    parts: Vec<MemoryPart>,
    bytes: u64,
    bytes_per_device: u64,
}

#[derive(Serialize)]
struct Stored {
    files: usize,
    bytes: u64,
    tensors: usize,
    dtypes: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let (config, stored) = if args.model == "70b" {
        (ModelConfig::llama_3_3_70b(), None)
    } else {
        let folder = Path::new(&args.model);
        let config = ModelConfig::from_folder(folder)?;
        let found = StoredTensors::open(folder)?.check(&config)?;
        let stored = Stored {
            files: found.files,
            bytes: found.bytes,
            tensors: found.tensors,
            dtypes: found.dtypes,
        };
        (config, Some(stored))
    };
    let workload = Workload {
        context: args.context.get(),
        decoded: args.decoded.get(),
        devices: args.devices.get(),
        precision: match args.precision {
            PrecisionName::F32 => Precision::F32,
            PrecisionName::MixedBf16 => Precision::MixedBf16,
        },
    };
    let plan = MemoryPlan::new(&config, &workload);
    let table = memory_table(&plan);
    let report = Report {
        parameters: config.parameters(),
        stored,
        bytes: plan.total(),
        bytes_per_device: plan.per_device(),
        parts: plan.parts,
    };
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}\n{table}", human(&config, &report, args));
    }
    Ok(())
}

fn human(config: &ModelConfig, report: &Report, args: &PlanArgs) -> String {
    let mut text = format!(
        "{} parameters; {} layers, hidden {}, {} heads ({} key/value), vocabulary {}\n",
        report.parameters,
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.vocab_size,
    );
    if let Some(stored) = &report.stored {
        text += &format!(
            "{}: {} tensors in {} file(s), {}, {}: all there, each with its shape\n",
            args.model,
            stored.tensors,
            stored.files,
            gigabytes(stored.bytes),
            stored.dtypes.join(" and "),
        );
    }
    text
}

/// The lines of a plan, a part each, and their sum.
pub(super) fn memory_table(plan: &MemoryPlan) -> String {
    let mut text = format!("{:<50} {:>12} {:>12}\n", "", "all", "a device");
    for part in &plan.parts {
        text += &row(part.what, part.bytes, part.bytes_per_device);
    }
    text + &row("together", plan.total(), plan.per_device())
}

fn row(what: &str, all: u64, device: u64) -> String {
    format!("{what:<50} {:>12} {:>12}\n", gigabytes(all), gigabytes(device))
}

/// In 10^9 bytes.
fn gigabytes(bytes: u64) -> String {
    format!("{:.3} GB", bytes as f64 / 1e9)
}
