//! Seeds as rows of other tools.
//!
//! The prompt is the caller's: this crate knows no answer format. Maps of path to text go as JSON
//! text, because Arrow tables give every row the paths of all rows.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::filter::decontaminate::instance_id;
use crate::filter::tests_only::is_test_file;
use crate::patch;
use crate::seed::SeedExample;

/// One turn of a chat prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system` or `user`.
    pub role: String,
    /// The text.
    pub content: String,
}

fn text_of(map: &BTreeMap<String, String>) -> String {
    // A map of strings always has a JSON text.
    serde_json::to_string(map).unwrap_or_default()
}

/// A row for TRL's trainers: `prompt` (messages), and the columns that reach the reward:
/// `context` and `oracle` (JSON text of path to text), `id`, `repo`.
#[must_use]
pub fn trl_row(seed: &SeedExample, prompt: &[Message]) -> Value {
    json!({
        "prompt": prompt,
        "context": text_of(&seed.context()),
        "oracle": text_of(&seed.oracle),
        "id": seed.id,
        "repo": seed.repo,
    })
}

/// A row for verl: `data_source` is "swerl", `reward_model.ground_truth` the JSON text of
/// `{context, oracle}`, `extra_info` holds split, index and id.
#[must_use]
pub fn verl_row(seed: &SeedExample, prompt: &[Message], split: &str, index: u64) -> Value {
    let truth = json!({"context": seed.context(), "oracle": seed.oracle}).to_string();
    json!({
        "data_source": "swerl",
        "prompt": prompt,
        "ability": "code",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": split, "index": index, "id": seed.id, "repo": seed.repo},
    })
}

/// A row as SWE-bench has it. `patch` holds the changed files that are no tests, `test_patch`
/// those that are. There are no test results: `FAIL_TO_PASS` and `PASS_TO_PASS` are empty lists as
/// JSON text, so the row suits retrieval and repair, not the execution harness.
#[must_use]
pub fn swe_bench_row(seed: &SeedExample) -> Value {
    let instance = match seed.pull_request {
        // Imported ids are instance ids already; commits have no number.
        _ if !seed.id.contains(['#', '@']) => seed.id.clone(),
        0 => seed.id.replacen('/', "__", 1).replace('@', "-"),
        number => instance_id(&seed.repo, number),
    };
    json!({
        "repo": seed.repo,
        "instance_id": instance,
        "base_commit": seed.base_commit,
        "patch": patch::patch_of(seed, |path| !is_test_file(path)),
        "test_patch": patch::patch_of(seed, is_test_file),
        "problem_statement": seed.issue_text(),
        "hints_text": "",
        "created_at": seed.merged_at.as_deref().unwrap_or(""),
        "version": "",
        "FAIL_TO_PASS": "[]",
        "PASS_TO_PASS": "[]",
        "environment_setup_commit": seed.base_commit,
    })
}
