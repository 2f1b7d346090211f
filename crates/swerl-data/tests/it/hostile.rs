//! Clones that mean harm: nothing they bring along runs, nothing is read outside them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use swerl_data::{
    CurateOptions, CurateReport, DataError, DropReason, NoProgress, Note, RepositoryOptions,
    curate_repository,
};

use crate::fixture::TestRepo;

fn report(repo: &TestRepo) -> CurateReport {
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let (seeds, report) =
        curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress).unwrap();
    assert!(report.adds_up() && report.kept == seeds.len() as u64);
    report
}

fn dropped(repo: &TestRepo) -> (u64, BTreeMap<DropReason, u64>) {
    let report = report(repo);
    (report.kept, report.dropped)
}

fn start() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 0\n");
    repo.commit("Start");
    repo
}

#[track_caller]
fn check(reason: DropReason, repo: &TestRepo) {
    repo.commit("Fix it (#2)");
    let expected = BTreeMap::from([(DropReason::DirectCommit, 1), (reason, 1)]);
    assert_eq!(dropped(repo), (0, expected));
}

#[test]
fn configured_commands_do_not_run() {
    let repo = start();
    repo.write("a.py", "a = 1\n").write(".gitattributes", "*.py diff=evil filter=evil\n");
    repo.commit("Fix it (#2)");
    let marker = repo.path().join("evil-ran");
    let script = repo.path().join(".git/evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let command = script.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "pager.rev-list",
        "pager.log",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.alternateRefsCommand",
        "gpg.program",
        "credential.helper",
        "core.gitProxy",
        "uploadpack.packObjectsHook",
    ] {
        repo.git(&["config", key, command]);
    }
    repo.git(&["config", "log.showSignature", "true"]);
    repo.git(&["config", "alias.rev-list", &format!("!{command}")]);
    repo.git(&["config", "core.hooksPath", script.parent().unwrap().to_str().unwrap()]);
    repo.git(&["config", "extensions.partialClone", "origin"]);
    repo.git(&["config", "remote.origin.url", &format!("ext::{command}")]);
    repo.git(&["config", "remote.origin.promisor", "true"]);
    repo.git(&["config", "protocol.ext.allow", "always"]);
    for hook in
        ["post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman"]
    {
        fs::create_dir_all(repo.path().join(".git/hooks")).unwrap();
        fs::copy(&script, repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    // A missing content invites a fetch.
    let lost = repo.git(&["rev-parse", "HEAD~1:a.py"]);
    fs::remove_file(repo.path().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..])))
        .unwrap();
    let _ = fs::remove_file(&marker);
    let report = report(&repo);
    assert_eq!((report.kept, report.dropped[&DropReason::MissingObject]), (0, 1));
    assert_eq!((report.notes[&Note::ConfiguredCommand], report.notes[&Note::Hook]), (1, 1));
    assert!(!marker.exists(), "a command of the repository's configuration ran");
}

#[track_caller]
fn refused(repo: &TestRepo, what: &str) {
    let from = RepositoryOptions::default();
    let result = curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress);
    let error = result.unwrap_err();
    assert!(matches!(error, DataError::ReachesOutside { .. }), "{error}");
    assert!(error.to_string().contains(what) && !error.to_string().contains('\n'), "{error}");
}

#[test]
fn objects_and_settings_from_outside_are_refused() {
    let secret = start();
    let repo = start();
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix it (#2)");
    let alternates = repo.path().join(".git/objects/info/alternates");
    fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    fs::write(&alternates, format!("{}/.git/objects\n", secret.path().display())).unwrap();
    refused(&repo, "alternates");
    fs::remove_file(&alternates).unwrap();
    repo.git(&["config", "include.path", "/etc/passwd"]);
    refused(&repo, "include.path");
    let config = repo.path().join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("[include]", "[includeIf \"gitdir:/\"]")).unwrap();
    refused(&repo, "includeif.");
    fs::write(&config, text.replace("path = /etc/passwd", "")).unwrap();
    assert_eq!(report(&repo).kept, 1);
    let pack = repo.path().join(".git/objects/pack/pack-1.pack");
    fs::create_dir_all(pack.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", pack).unwrap();
    refused(&repo, "symbolic link");
}

#[test]
fn paths_into_the_git_folder() {
    let repo = start();
    let blob = repo.git_with(&["hash-object", "-w", "--stdin"], b"x\n");
    let hooks = repo.git_with(&["mktree"], format!("100644 blob {blob}\thook.py\n").as_bytes());
    let old = repo.git(&["rev-parse", "HEAD:a.py"]);
    let entries = format!("100644 blob {old}\ta.py\n040000 tree {hooks}\t.GIT\n");
    let root = repo.git_with(&["mktree"], entries.as_bytes());
    let commit = repo.git(&["commit-tree", &root, "-p", "HEAD", "-m", "Fix it (#2)"]);
    repo.git(&["update-ref", "HEAD", &commit]);
    let expected = BTreeMap::from([(DropReason::DirectCommit, 1), (DropReason::UnusualPath, 1)]);
    assert_eq!(dropped(&repo), (0, expected));
}

#[test]
fn links_out_of_the_tree() {
    let repo = start();
    repo.write("a.py", "a = 1\n");
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link.py")).unwrap();
    check(DropReason::SymbolicLink, &repo);
}

#[test]
fn a_link_is_no_related_file() {
    let repo = start();
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("b.py")).unwrap();
    repo.commit("Link");
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix b.py (#2)");
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let (seeds, _) =
        curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress).unwrap();
    assert_eq!(seeds[0].files.len(), 1);
}

#[test]
fn submodules() {
    let repo = start();
    repo.write("a.py", "a = 1\n");
    let commit = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["add", "--all"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    repo.git(&["commit", "--quiet", "-m", "Fix it (#2)"]);
    let expected = BTreeMap::from([(DropReason::DirectCommit, 1), (DropReason::Submodule, 1)]);
    assert_eq!(dropped(&repo), (0, expected));
}

#[test]
fn paths_with_newlines() {
    let repo = start();
    repo.write("a.py", "a = 1\n").write("b\n### c.py", "x\n");
    check(DropReason::UnusualPath, &repo);
}

#[test]
fn paths_that_are_no_text() {
    let repo = start();
    let blob = repo.git_with(&["hash-object", "-w", "--stdin"], b"x\n");
    repo.git_with(
        &["update-index", "-z", "--index-info"],
        &[format!("100644 {blob}\t").as_bytes(), b"caf\xe9.py\0"].concat(),
    );
    repo.git(&["commit", "--quiet", "-m", "Fix it (#2)"]);
    let expected = BTreeMap::from([(DropReason::DirectCommit, 1), (DropReason::UnusualPath, 1)]);
    assert_eq!(dropped(&repo), (0, expected));
}

#[test]
fn huge_contents_are_not_read() {
    let repo = start();
    repo.write("a.py", vec![b'x'; 100 << 20]);
    check(DropReason::TooLarge, &repo);
    // Nor as a related file, nor compared with the issue.
    repo.write("b.py", "b = 1\n");
    repo.commit("Fix b beside a.py (#3)");
    assert_eq!(dropped(&repo).0, 1);
}

#[test]
fn paths_that_differ_in_case_only() {
    let repo = start();
    repo.write("A.py", "A = 1\n").write("a.py", "a = 1\n");
    repo.commit("Fix it (#2)");
    let report = report(&repo);
    assert_eq!((report.kept, report.notes[&Note::CaseCollision]), (1, 1));
}

#[test]
fn replaced_objects_do_not_count() {
    let repo = start();
    repo.write("a.py", "a = 1\n");
    repo.commit("Fix it (#2)");
    let evil = repo.git_with(&["hash-object", "-w", "--stdin"], b"evil\n");
    let real = repo.git(&["rev-parse", "HEAD:a.py"]);
    repo.git(&["replace", &real, &evil]);
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let (seeds, _) =
        curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress).unwrap();
    assert_eq!(seeds[0].oracle["a.py"], "a = 1\n");
}
