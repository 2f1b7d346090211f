//! Seeds on disk: round trips, faults named by file and line, nothing half-written.

use std::error::Error;
use std::fs;

use proptest::prelude::*;
use swerl_data::{DataError, SeedExample, read_seeds, write_seeds};
use tempfile::TempDir;

use crate::fixture::seed;

const GOLDEN: &str = include_str!("../golden/seeds.jsonl");

#[test]
fn golden_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("seeds.jsonl");
    let mut second = seed("acme/tool", 2);
    second.oracle.insert("new/c.py".to_owned(), "c\r\n".to_owned());
    second.oracle.insert("a.py".to_owned(), String::new());
    let seeds = [seed("acme/tool", 1), second];
    write_seeds(&path, &seeds).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), GOLDEN);
    assert_eq!(read_seeds(&path).unwrap(), seeds);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["seeds.jsonl"]);
}

#[track_caller]
fn check_read_error(content: &str, message: &str, cause: &str) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("seeds.jsonl");
    fs::write(&path, content).unwrap();
    let error = read_seeds(&path).unwrap_err();
    let expected = format!("{}{message}", path.display());
    assert_eq!(error.to_string(), expected);
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(source.contains(cause), "{source}");
}

#[test]
fn faults_are_named() {
    let line = GOLDEN.lines().next().unwrap();
    let broken = |from: &str, to: &str| {
        assert!(line.contains(from), "{from}");
        format!("{line}\n\n{}\n", line.replace(from, to))
    };
    let inconsistent = ":3: this seed is inconsistent";
    check_read_error("", ": the file holds no seeds", "");
    check_read_error("\n\n", ": the file holds no seeds", "");
    check_read_error(&line[..90], ":1: not a seed", "EOF");
    check_read_error(&format!("{line}\n[1]\n"), ":2: not a seed", "");
    check_read_error(&broken("\"version\":1", "\"version\":2"), inconsistent, "schema version 2");
    check_read_error(
        &broken("\"id\":\"acme/tool#1\"", "\"id\":\"\""),
        inconsistent,
        "'id' is empty",
    );
    check_read_error(
        &broken("\"repo\":\"acme/tool\"", "\"repo\":\"acme\""),
        inconsistent,
        "owner/name",
    );
    check_read_error(&broken("aaaaaaaa\"", "aaaaaaag\""), inconsistent, "commit id");
    check_read_error(
        &broken("\"path\":\"b.py\"", "\"path\":\"../b.py\""),
        inconsistent,
        "plain relative",
    );
    check_read_error(&broken("\"path\":\"b.py\"", "\"path\":\"a.py\""), inconsistent, "twice");
    check_read_error(&broken("\"relevant\"", "\"edit\""), inconsistent, "role of 'b.py'");
    check_read_error(&broken("{\"a.py\":\"z\\n\"}", "{}"), inconsistent, "'oracle' is empty");
    check_read_error(
        &broken("{\"a.py\":\"z\\n\"}", "{\"a.py\":\"x\\n\"}"),
        inconsistent,
        "unchanged",
    );
    check_read_error(&broken("\"z\\n\"", "\"z\\n\",\"/c\":\"\""), inconsistent, "plain relative");
}

#[test]
fn unknown_fields_are_ignored() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("seeds.jsonl");
    fs::write(&path, GOLDEN.replace("{\"version\"", "{\"later\":[1],\"version\"")).unwrap();
    assert_eq!(read_seeds(&path).unwrap().len(), 2);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("seeds.jsonl");
    write_seeds(&path, &[seed("acme/tool", 1)]).unwrap();
    let before = fs::read(&path).unwrap();
    let mut bad = seed("acme/tool", 2);
    bad.oracle.clear();
    let error = write_seeds(&path, &[seed("acme/tool", 1), bad]).unwrap_err();
    assert!(matches!(error, DataError::InvalidSeed { line: 2, .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    // A folder in the way of the rename: the file aside must go.
    let blocked = folder.path().join("blocked");
    fs::create_dir_all(blocked.join("inner")).unwrap();
    let error = write_seeds(&blocked, &[seed("acme/tool", 1)]).unwrap_err();
    assert!(matches!(error, DataError::Write { .. }), "{error}");
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["blocked", "seeds.jsonl"]);
    assert!(write_seeds(folder.path().join("no/such/folder"), &[]).is_err());
}

fn any_seed() -> impl Strategy<Value = SeedExample> {
    let texts = prop::collection::vec(any::<String>(), 5);
    (texts, any::<u64>()).prop_map(|(texts, number)| {
        let mut seed = seed("acme/tool", number);
        seed.title.clone_from(&texts[0]);
        seed.body.clone_from(&texts[1]);
        seed.issue.body.clone_from(&texts[2]);
        seed.files[0].text.clone_from(&texts[3]);
        seed.oracle.insert("a.py".to_owned(), format!("{}+{}", texts[3], texts[4]));
        seed
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_round_trips(seeds in prop::collection::vec(any_seed(), 1..4)) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("seeds.jsonl");
        write_seeds(&path, &seeds).unwrap();
        prop_assert_eq!(read_seeds(&path).unwrap(), seeds);
    }
}
