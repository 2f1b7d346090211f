//! Clones that mean harm: nothing they bring along runs, nothing is read outside them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use swerl_data::{CurateOptions, DropReason, NoProgress, RepositoryOptions, curate_repository};

use crate::fixture::TestRepo;

fn dropped(repo: &TestRepo) -> (usize, BTreeMap<DropReason, u64>) {
    let from =
        RepositoryOptions { name: Some("acme/tool".to_owned()), ..RepositoryOptions::default() };
    let (seeds, report) =
        curate_repository(repo.path(), &from, &CurateOptions::default(), &NoProgress).unwrap();
    assert!(report.adds_up());
    (seeds.len(), report.dropped)
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
    let (kept, dropped) = dropped(&repo);
    assert_eq!((kept, dropped[&DropReason::MissingObject]), (0, 1));
    assert!(!marker.exists(), "a command of the repository's configuration ran");
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
    repo.write("a.py", vec![b'x'; 4 << 20]);
    check(DropReason::TooLarge, &repo);
}

#[test]
fn paths_that_differ_in_case_only() {
    let repo = start();
    repo.write("A.py", "A = 1\n").write("a.py", "a = 1\n");
    repo.commit("Fix it (#2)");
    assert_eq!(dropped(&repo).0, 1);
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
