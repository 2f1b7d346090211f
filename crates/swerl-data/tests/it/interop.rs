//! Rows of other tools, out and in.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use swerl_data::interop::{Message, swe_bench_row, trl_row, verl_row};
use swerl_data::{
    CurateOptions, CurateReport, DataError, DropReason, FileRole, InstanceFormat, NoProgress,
    RepositoryFolder, RepositoryOptions, SeedExample, curate_repository, import_instances,
    patch::seed_patch,
};
use tempfile::TempDir;

use crate::fixture::{TestRepo, roles, seed};

fn messages() -> Vec<Message> {
    vec![Message { role: "user".to_owned(), content: "Fix it".to_owned() }]
}

#[test]
fn rows_have_the_fields_of_their_tools() {
    let seed = seed("acme/tool", 7);
    let row = trl_row(&seed, &messages());
    assert_eq!(row["prompt"], json!([{"role": "user", "content": "Fix it"}]));
    assert_eq!(row["context"], json!(r#"{"a.py":"x\n","b.py":"y\n"}"#));
    assert_eq!(row["oracle"], json!(r#"{"a.py":"z\n"}"#));
    let row = verl_row(&seed, &messages(), "train", 3);
    let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ability", "data_source", "extra_info", "prompt", "reward_model"]);
    assert_eq!(
        (&row["extra_info"]["index"], &row["extra_info"]["split"]),
        (&json!(3), &json!("train"))
    );
    let truth: Value =
        serde_json::from_str(row["reward_model"]["ground_truth"].as_str().unwrap()).unwrap();
    assert_eq!(
        truth,
        json!({"context": {"a.py": "x\n", "b.py": "y\n"}, "oracle": {"a.py": "z\n"}})
    );
    let row = swe_bench_row(&seed);
    assert_eq!(row["instance_id"], json!("acme__tool-7"));
    assert_eq!(
        row["patch"],
        json!("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+z\n")
    );
    assert_eq!((&row["test_patch"], &row["FAIL_TO_PASS"]), (&json!(""), &json!("[]")));
}

/// A fix of three files with a test, on a clone at `clones/acme/tool`.
struct Source {
    dir: TempDir,
    repo: TestRepo,
    seed: SeedExample,
}

fn source() -> Source {
    let repo = TestRepo::new();
    repo.write("a b.py", "one\ntwo\nthree\n").write("gone.py", "x\n").write("tests/t.py", "t\n");
    repo.write("near.py", "near\n");
    repo.commit("Start");
    repo.write("a b.py", "one\n2\nthree").remove("gone.py").write("new.py", "new\n");
    repo.write("tests/t.py", "T\n");
    repo.commit("Wrong count (#7)\n\nIt counts twice.");
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let (mut seeds, _) =
        curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress).unwrap();
    let dir = TempDir::new().unwrap();
    let clone = dir.path().join("clones/acme/tool");
    fs::create_dir_all(clone.parent().unwrap()).unwrap();
    repo.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    Source { dir, repo, seed: seeds.remove(0) }
}

#[test]
fn git_takes_the_patch_of_a_seed() {
    let source = source();
    source.repo.git(&["checkout", "--quiet", "--detach", &source.seed.base_commit]);
    source.repo.git_with(&["apply", "--index", "-"], seed_patch(&source.seed).as_bytes());
    let tree = source.repo.git(&["write-tree"]);
    let merged = source.repo.git(&["rev-parse", &format!("{}^{{tree}}", source.seed.head_commit)]);
    assert_eq!(tree, merged);
}

fn import(
    source: &Source,
    format: InstanceFormat,
    rows: &[Value],
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let path = source.dir.path().join("rows.jsonl");
    let lines: Vec<String> = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(&path, lines.concat()).unwrap();
    let clones = RepositoryFolder::new(source.dir.path().join("clones"));
    let made = import_instances(&path, format, &clones, &CurateOptions::default(), &NoProgress);
    if let Ok((seeds, report)) = &made {
        assert!(report.adds_up() && report.inputs == rows.len() as u64);
        seeds.iter().for_each(|seed| seed.validate().unwrap());
    }
    made
}

#[test]
fn a_row_comes_back_as_a_seed() {
    let source = source();
    let row = swe_bench_row(&source.seed);
    for format in [InstanceFormat::SweBench, InstanceFormat::SweGym] {
        let (seeds, _) = import(&source, format, std::slice::from_ref(&row)).unwrap();
        let found = &seeds[0];
        assert_eq!((found.id.as_str(), found.pull_request), ("acme__tool-7", 7));
        assert_eq!(found.issue_text(), source.seed.issue_text());
        // Without the tests, which are in `test_patch`.
        let mut oracle = source.seed.oracle.clone();
        oracle.remove("tests/t.py").unwrap();
        assert_eq!(found.oracle, oracle);
        let edited = [("a b.py", FileRole::Edit), ("gone.py", FileRole::Edit)];
        assert_eq!(roles(found)[..2], edited);
        assert!(found.files.iter().any(|f| f.path == "near.py" && f.role == FileRole::Relevant));
        assert_eq!(swe_bench_row(found)["patch"], row["patch"]);
        assert_eq!(swe_bench_row(found)["instance_id"], row["instance_id"]);
    }
}

#[test]
fn the_patch_that_makes_a_bug_is_undone() {
    let source = source();
    let commit = &source.seed.base_commit;
    let bug = "--- a/near.py\n+++ b/near.py\n@@ -1 +1 @@\n-near\n+far\n";
    let row = json!({
        "instance_id": "acme__tool.x.1", "repo": format!("swesmith/acme__tool.{}", &commit[..8]),
        "patch": bug, "problem_statement": "Too far", "image_name": "x",
        "FAIL_TO_PASS": [], "PASS_TO_PASS": [],
    });
    let (seeds, _) = import(&source, InstanceFormat::SweSmith, &[row]).unwrap();
    assert_eq!(&seeds[0].base_commit, commit);
    assert_eq!(seeds[0].context()["near.py"], "far\n");
    assert_eq!(seeds[0].oracle["near.py"], "near\n");
}

#[test]
fn a_commit_is_compared_with_its_parent() {
    let source = source();
    let row = json!({
        "repo_name": "acme/tool", "commit_hash": source.seed.head_commit, "docker_image": "x",
        "problem_statement": "[ISSUE]\nWrong count\n[/ISSUE]", "expected_output_json": "{}",
    });
    let (seeds, _) = import(&source, InstanceFormat::R2eGym, &[row]).unwrap();
    assert_eq!(seeds[0].oracle, source.seed.oracle);
    assert_eq!(seeds[0].issue_text(), "Wrong count");
}

#[test]
fn what_cannot_be_imported_is_counted() {
    let source = source();
    let good = swe_bench_row(&source.seed);
    let with = |key: &str, value: &str| {
        let mut row = good.clone();
        row[key] = json!(value);
        row["instance_id"] = json!(format!("acme__tool-{}", value.len()));
        row
    };
    let elsewhere = "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n";
    let inside = "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n";
    let rows = [
        with("repo", "acme/none"),
        with("base_commit", &"1".repeat(40)),
        with("patch", "--- a/near.py\n+++ b/near.py\n@@ -1 +1 @@\n-other\n+x\n"),
        with("patch", "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-other\n+x\n"),
        with("patch", elsewhere),
        with("patch", inside),
        with("patch", ""),
        with("patch", "diff --git a/i b/i\nBinary files a/i and b/i differ\n"),
        with("problem_statement", " "),
    ];
    let (seeds, report) = import(&source, InstanceFormat::SweBench, &rows).unwrap();
    assert!(seeds.is_empty());
    let expected = [
        (DropReason::MissingRepository, 1),
        (DropReason::NoIssueText, 1),
        (DropReason::MissingCommit, 1),
        (DropReason::EmptyChange, 1),
        (DropReason::UnusualPath, 2),
        (DropReason::BinaryFile, 1),
        (DropReason::PatchFails, 2),
    ];
    assert_eq!(report.dropped, expected.into_iter().collect());
    let error = import(&source, InstanceFormat::SweBench, &[good, json!({"repo": "o/r"})]);
    let error = error.unwrap_err();
    assert!(error.to_string().ends_with("rows.jsonl:2: not an instance of this format"), "{error}");
    assert!(!Path::new(&source.dir.path().join("clones/acme/tool/.git/hooks/x")).exists());
}
