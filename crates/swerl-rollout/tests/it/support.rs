//! A byte tokenizer, small seeds, and answers to them.

use std::collections::BTreeMap;

use swerl_data::{ContextFile, FileRole, IssueSource, IssueText, SEED_SCHEMA_VERSION, SeedExample};
use swerl_rollout::TextCodec;

/// One id per byte, and [`Bytes::EOS`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes;

impl Bytes {
    pub(crate) const EOS: u32 = 256;
    pub(crate) const VOCABULARY: usize = 257;
}

impl TextCodec for Bytes {
    fn encode(&self, text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().filter_map(|&id| u8::try_from(id).ok()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn token_id(&self, token: &str) -> Option<u32> {
        (token == "<eos>").then_some(Self::EOS)
    }
}

/// A seed that adds where it should subtract, with one related file.
pub(crate) fn seed(number: u64) -> SeedExample {
    let line = |sign| format!("def left{number}(a, b):\n    return a {sign} b\n");
    let file = |path: &str, role, text: String| ContextFile { path: path.to_owned(), role, text };
    let path = format!("shop/left{number}.py");
    SeedExample {
        version: SEED_SCHEMA_VERSION,
        id: format!("shop/left#{number}"),
        repo: "shop/left".to_owned(),
        pull_request: number,
        base_commit: "0".repeat(40),
        head_commit: "1".repeat(40),
        merge_commit: None,
        merged_at: None,
        title: format!("Fix left{number}"),
        body: String::new(),
        issue: IssueText {
            number: Some(number + 1),
            title: format!("left{number} adds"),
            body: "It must subtract.".to_owned(),
            url: None,
            source: IssueSource::LinkedIssue,
        },
        files: vec![
            file(&path, FileRole::Edit, line('+')),
            file("shop/tax.py", FileRole::Relevant, "RATE = 7\n".to_owned()),
        ],
        oracle: BTreeMap::from([(path, line('-'))]),
    }
}

pub(crate) fn seeds(count: u64) -> Vec<SeedExample> {
    let seeds: Vec<SeedExample> = (1..=count).map(seed).collect();
    for seed in &seeds {
        seed.validate().expect("test seeds are valid");
    }
    seeds
}

/// The right answer to [`seed`] with the same number.
pub(crate) fn right(seed: &SeedExample) -> String {
    swerl_rollout::oracle_answer(seed, "The sign is wrong.").expect("the oracle scores one")
}

/// A valid answer that does the wrong thing.
pub(crate) fn wrong(seed: &SeedExample) -> String {
    right(seed).replace("    return a - b", "    return a * b")
}
