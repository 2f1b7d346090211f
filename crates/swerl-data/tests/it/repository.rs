//! A lone clone to seeds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use swerl_data::{
    CurateOptions, CurateReport, DataError, DropReason, IssueSource, NoProgress, RepositoryOptions,
    SeedExample, curate_repository,
};
use tempfile::TempDir;

use crate::fixture::{TestRepo, snapshot};

fn curate(
    path: &Path,
    from: &RepositoryOptions,
) -> Result<(Vec<SeedExample>, CurateReport), DataError> {
    let result = curate_repository(path, from, &CurateOptions::default(), &NoProgress);
    if let Ok((seeds, report)) = &result {
        assert!(report.adds_up(), "{report}");
        seeds.iter().for_each(|seed| seed.validate().unwrap());
    }
    result
}

fn named() -> RepositoryOptions {
    RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() }
}

/// Merges, squashes, direct commits, a merge of the target, an octopus, a bot.
fn history() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 0\n").write("b.py", "b = 0\n").write("c.py", "c = 0\n");
    repo.commit("Start");
    repo.branch("one", "main").write("a.py", "a = 1\n");
    repo.commit("Crash on empty input\n\nCloses #5\n\nSigned-off-by: Ann <ann@example.org>");
    repo.write("a.py", "a = 2\n");
    repo.commit("Address review");
    repo.checkout("main").write("b.py", "b = 1\n");
    repo.commit("Direct work");
    repo.merge(&["one"], "Merge pull request #11 from ann/one");
    repo.branch("two", "main").write("a.py", "a = 3\n");
    repo.commit("wip");
    repo.checkout("main");
    repo.merge(&["two"], "Merge pull request #12 from ann/two\n\nFix the wrong sign\n\nFixes #6");
    repo.write("b.py", "b = 2\n");
    repo.commit("Fix a missing check (#13)\n\n* try\n* again");
    repo.write("c.py", "c = 1\n");
    repo.commit("feat: a menu (#14)");
    repo.write("c.py", "c = 2\n");
    repo.commit("Bump x from 1 to 2 (#15)");
    repo.branch("three", "main~1").write("d.py", "d = 0\n");
    repo.commit("Elsewhere");
    repo.checkout("main");
    repo.merge(&["three"], "Merge branch 'main' of example.org:acme/tool");
    for name in ["four", "five"] {
        repo.branch(name, "main").write(&format!("{name}.py"), "x = 0\n");
        repo.commit(name);
        repo.checkout("main");
    }
    repo.merge(&["four", "five"], "Merge branches 'four' and 'five'");
    repo
}

#[test]
fn merges_and_squashes_become_seeds() {
    let repo = history();
    let (seeds, report) = curate(repo.path(), &named()).unwrap();
    let ids: Vec<&str> = seeds.iter().map(|seed| seed.id.as_str()).collect();
    assert_eq!(ids, ["acme/tool#11", "acme/tool#12", "acme/tool#13"]);
    assert_eq!(report.inputs, 9);
    let dropped = BTreeMap::from([
        (DropReason::DirectCommit, 2),
        (DropReason::Octopus, 1),
        (DropReason::MergeOfTarget, 1),
        (DropReason::Bot, 1),
        (DropReason::NotABug, 1),
    ]);
    assert_eq!(report.dropped, dropped);

    let first = &seeds[0];
    assert_eq!(first.issue_text(), "Crash on empty input\n\nCloses #5");
    assert_eq!((first.issue.number, first.issue.source), (Some(5), IssueSource::CommitMessage));
    assert_eq!(first.base_commit, repo.git(&["rev-parse", "one~2"]));
    assert_eq!(first.head_commit, repo.git(&["rev-parse", "one"]));
    assert_eq!(first.context()["a.py"], "a = 0\n");
    assert_eq!(first.context()["b.py"], "b = 0\n");
    assert_eq!(first.oracle, BTreeMap::from([("a.py".to_owned(), "a = 2\n".to_owned())]));
    assert_eq!(seeds[1].issue_text(), "Fix the wrong sign\n\nFixes #6");
    assert_eq!(seeds[2].issue_text(), "Fix a missing check\n\n* try\n* again");
    assert_eq!(seeds[2].context()["b.py"], "b = 1\n");
}

#[test]
fn long_lived_branches_are_no_pull_requests() {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 0\n");
    repo.commit("Start");
    repo.branch("next", "main").branch("fix", "next").write("a.py", "a = 1\n");
    repo.commit("Fix a");
    repo.checkout("next");
    repo.merge(&["fix"], "Merge pull request #3 from ann/fix\n\nFix a");
    repo.checkout("main");
    repo.merge(&["next"], "Merge branch 'next'");
    let (seeds, report) = curate(repo.path(), &named()).unwrap();
    assert!(seeds.is_empty());
    assert_eq!(report.dropped[&DropReason::MergeOfTarget], 1);
    // The branch itself has the pull request.
    let from = RepositoryOptions { revision: "next".to_owned(), ..named() };
    assert_eq!(curate(repo.path(), &from).unwrap().0[0].id, "acme/tool#3");
}

#[test]
fn bare_work_tree_and_linked_work_tree_give_the_same() {
    let repo = history();
    let folder = TempDir::new().unwrap();
    let bare = folder.path().join("tool.git");
    repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let linked = folder.path().join("linked");
    repo.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "main"]);
    let before = snapshot(repo.path());
    let expected = curate(repo.path(), &named()).unwrap();
    assert_eq!(curate(&bare, &named()).unwrap(), expected);
    assert_eq!(curate(&linked, &named()).unwrap(), expected);
    assert_eq!(snapshot(repo.path()), before, "reading must not write");
}

#[test]
fn names_and_direct_commits() {
    let repo = history();
    let from = RepositoryOptions { direct_commits: true, ..RepositoryOptions::default() };
    repo.git(&["remote", "add", "origin", "git@github.com:acme/other.git"]);
    let (seeds, report) = curate(repo.path(), &from).unwrap();
    // The root commit has nothing to be compared with.
    assert_eq!(report.dropped[&DropReason::DirectCommit], 1);
    let direct = seeds.iter().find(|seed| seed.title == "Direct work").unwrap();
    assert!(direct.id.starts_with("acme/other@") && direct.pull_request == 0, "{}", direct.id);
    repo.git(&["remote", "remove", "origin"]);
    let (seeds, _) = curate(repo.path(), &RepositoryOptions::default()).unwrap();
    assert!(seeds[0].repo.starts_with("local/"), "{}", seeds[0].repo);
    let bad = RepositoryOptions { name: Some("tool".to_owned()), ..RepositoryOptions::default() };
    assert!(matches!(curate(repo.path(), &bad), Err(DataError::RepositoryName { .. })));
}

#[test]
fn an_excluded_repository_gives_nothing() {
    let repo = history();
    let from = RepositoryOptions { name: Some("Django/Django".to_owned()), ..named() };
    let (seeds, report) = curate(repo.path(), &from).unwrap();
    assert!(seeds.is_empty());
    assert_eq!(report.dropped[&DropReason::ExcludedRepository], 5);
}

#[track_caller]
fn check_error(path: &Path, from: &RepositoryOptions, expected: &str) {
    let error = curate(path, from).unwrap_err().to_string();
    assert!(error.contains(expected) && error.contains(path.to_str().unwrap()), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn faults_are_named() {
    let none = TempDir::new().unwrap();
    check_error(none.path(), &named(), "not a git repository");
    check_error(&none.path().join("missing"), &named(), "not a git repository");
    let empty = TestRepo::new();
    check_error(empty.path(), &named(), "the repository is empty or lacks its objects");
    let repo = history();
    let from = RepositoryOptions { revision: "nowhere".to_owned(), ..named() };
    check_error(repo.path(), &from, "'nowhere' cannot be read");
    let from = RepositoryOptions { revision: "--all".to_owned(), ..named() };
    check_error(repo.path(), &from, "cannot be read");
    // A folder inside a repository is not that repository.
    fs::create_dir(repo.path().join("inner")).unwrap();
    check_error(&repo.path().join("inner"), &named(), "not a git repository");
    fs::remove_dir_all(repo.path().join(".git/objects")).unwrap();
    check_error(repo.path(), &named(), "lacks its objects");
    fs::create_dir(repo.path().join(".git/objects")).unwrap();
    check_error(repo.path(), &named(), "lacks its objects");
}

#[test]
fn a_lost_commit_is_an_error_that_says_so() {
    let repo = history();
    let lost = repo.git(&["rev-parse", "one~1"]);
    fs::remove_file(repo.path().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..])))
        .unwrap();
    check_error(repo.path(), &named(), "git rev-list failed");
}

#[test]
fn lost_contents_are_counted() {
    let repo = history();
    let lost = repo.git(&["rev-parse", "one:a.py"]);
    fs::remove_file(repo.path().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..])))
        .unwrap();
    let (seeds, report) = curate(repo.path(), &named()).unwrap();
    assert_eq!(seeds.len(), 1);
    // `a = 2` is the new text of #11 and the old text of #12.
    assert_eq!(report.dropped[&DropReason::MissingObject], 2);
}

#[test]
fn a_partial_clone_is_read_without_fetching() {
    let repo = history();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let folder = TempDir::new().unwrap();
    let partial = folder.path().join("tool.git");
    let url = format!("file://{}", repo.path().display());
    repo.git(&[
        "clone",
        "--quiet",
        "--bare",
        "--filter=blob:none",
        &url,
        partial.to_str().unwrap(),
    ]);
    let before = snapshot(&partial);
    let (seeds, report) = curate(&partial, &named()).unwrap();
    assert!(seeds.is_empty());
    assert_eq!(report.dropped[&DropReason::MissingObject], 3);
    assert_eq!(snapshot(&partial), before);
}

#[test]
fn a_shallow_clone_ends_where_it_ends() {
    let repo = history();
    let folder = TempDir::new().unwrap();
    let shallow = folder.path().join("tool.git");
    let url = format!("file://{}", repo.path().display());
    repo.git(&["clone", "--quiet", "--bare", "--depth=7", &url, shallow.to_str().unwrap()]);
    let (seeds, report) = curate(&shallow, &named()).unwrap();
    assert_eq!(report.inputs, 7);
    assert_eq!(seeds.last().unwrap().id, "acme/tool#13");
}

#[test]
fn sha256_repositories() {
    let folder = TempDir::new().unwrap();
    let init = Command::new("git")
        .args(["init", "--quiet", "--object-format=sha256", "--initial-branch=main"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(init.status.success());
    let repo = TestRepo::at(folder);
    repo.write("a.py", "a = 0\n");
    repo.commit("Start");
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix a (#3)");
    let (seeds, _) = curate(repo.path(), &named()).unwrap();
    assert_eq!((seeds.len(), seeds[0].head_commit.len()), (1, 64));
}
