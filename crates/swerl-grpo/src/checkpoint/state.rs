//! What a checkpoint says about its run, and the comparison with the run that wants to resume.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CheckpointError;

/// Version of the checkpoint format that is written and read.
pub const CHECKPOINT_VERSION: u32 = 1;

/// What kind of run wrote a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// [`crate::train()`].
    Grpo,
    /// [`crate::sft()`].
    Sft,
}

/// The content of `state.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointState {
    /// [`CHECKPOINT_VERSION`].
    pub version: u32,
    /// What kind of run.
    pub kind: RunKind,
    /// Number of steps done.
    pub step: u64,
    /// The configuration, as far as it determines the future.
    pub config: Value,
    /// Digest of `config`: FNV-1a, 64 bits, of its compact JSON with sorted keys, in hex.
    pub config_digest: String,
    /// Shape of each parameter by its path in the module.
    pub parameters: BTreeMap<String, Vec<usize>>,
}

impl CheckpointState {
    pub(crate) fn new(
        kind: RunKind,
        step: u64,
        config: Value,
        parameters: BTreeMap<String, Vec<usize>>,
    ) -> Self {
        let config_digest = digest(&config);
        Self { version: CHECKPOINT_VERSION, kind, step, config, config_digest, parameters }
    }

    pub(super) fn parse(file: &Path, text: &[u8]) -> Result<Self, CheckpointError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let malformed = |source| CheckpointError::State { path: file.to_owned(), source };
        // The version first: another version's other fields are no reason to call it malformed.
        let version: Version = serde_json::from_slice(text).map_err(malformed)?;
        if version.version != CHECKPOINT_VERSION {
            return Err(CheckpointError::Version {
                path: file.to_owned(),
                found: version.version,
                expected: CHECKPOINT_VERSION,
            });
        }
        serde_json::from_slice(text).map_err(malformed)
    }

    /// What differs between the run that wrote this and `present`, steps aside.
    #[must_use]
    pub fn differences(&self, present: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        if self.kind != present.kind {
            let text = |kind| match kind {
                RunKind::Grpo => Some("grpo".to_owned()),
                RunKind::Sft => Some("sft".to_owned()),
            };
            found.push(Difference {
                field: "kind".to_owned(),
                stored: text(self.kind),
                present: text(present.kind),
            });
            return found;
        }
        compare("", Some(&self.config), Some(&present.config), &mut found);
        let shape = |shape: &Vec<usize>| format!("{shape:?}");
        let paths = self.parameters.keys().chain(present.parameters.keys());
        let paths: std::collections::BTreeSet<&String> = paths.collect();
        for path in paths {
            let (stored, now) = (self.parameters.get(path), present.parameters.get(path));
            if stored != now {
                found.push(Difference {
                    field: format!("parameter {path}"),
                    stored: stored.map(shape),
                    present: now.map(shape),
                });
            }
        }
        found
    }
}

/// One thing that differs between a checkpoint and the run that wants to resume from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Path of the configuration field, or the parameter.
    pub field: String,
    /// What the checkpoint has; `None` if nothing.
    pub stored: Option<String>,
    /// What the run has; `None` if nothing.
    pub present: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        let (stored, present) = (side(&self.stored), side(&self.present));
        write!(f, "{}: {stored} in the checkpoint, {present} here", self.field)
    }
}

/// At most five differences in one line.
pub(super) fn list(differences: &[Difference]) -> String {
    let mut parts: Vec<String> = differences.iter().take(5).map(ToString::to_string).collect();
    if differences.len() > 5 {
        parts.push(format!("and {} more", differences.len() - 5));
    }
    parts.join("; ")
}

fn compare(
    path: &str,
    stored: Option<&Value>,
    present: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if let (Some(Value::Object(a)), Some(Value::Object(b))) = (stored, present) {
        let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys {
            let dot = if path.is_empty() { "" } else { "." };
            compare(&format!("{path}{dot}{key}"), a.get(key), b.get(key), found);
        }
    } else if stored != present {
        found.push(Difference {
            field: path.to_owned(),
            stored: stored.map(ToString::to_string),
            present: present.map(ToString::to_string),
        });
    }
}

/// The shape of each float parameter of `module` by its path.
#[must_use]
pub fn parameter_shapes<M: Module>(module: &M) -> BTreeMap<String, Vec<usize>> {
    let mut shapes = Shapes::default();
    module.visit(&mut shapes);
    shapes.found
}

#[derive(Default)]
struct Shapes {
    path: Vec<String>,
    found: BTreeMap<String, Vec<usize>>,
}

impl ModuleVisitor for Shapes {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let shape = param.lazy_shape();
        self.found.insert(self.path.join("."), (0..D).map(|dim| shape[dim]).collect());
    }
}

fn digest(value: &Value) -> String {
    let hash = value.to_string().bytes().fold(FNV_START, fnv);
    format!("{hash:016x}")
}

/// FNV-1a's start value, 64 bits.
pub(crate) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// One byte of FNV-1a, 64 bits.
pub(crate) fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}
