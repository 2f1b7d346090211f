//! The stages of a large curation, killed and run again, on a full disk, and against the way in memory.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
    time::Duration,
};

use serde_json::Value;
use swerl_sample_corpus::{CorpusOptions, generate};
use tempfile::{TempDir, tempdir};

use crate::run::{Ran, command, fails, names, swerl};

/// Events and clones, made once.
static CORPUS: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempdir().expect("a folder can be made");
    let options = CorpusOptions { seed: 3, pull_requests: 40 };
    generate(&dir.path().join("c"), &options, &mut |_, _| {}).expect("the corpus can be made");
    dir
});

fn corpus(what: &str) -> String {
    CORPUS.path().join("c").join(what).to_str().expect("the name is UTF-8").to_owned()
}

/// The command lines of the stages, and the folder or file that each makes.
fn stages() -> [(Vec<String>, &'static str); 3] {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut ingest = words("curate ingest EVENTS --out in --json");
    ingest[2] = corpus("events");
    let aggregate = words("curate aggregate in --out pulls --parts 6 --json");
    let mut seeds = words("curate seeds pulls --repos REPOS --out seeds.jsonl --json");
    seeds[4] = corpus("repos");
    [(ingest, "in"), (aggregate, "pulls"), (seeds, "seeds.jsonl.parts")]
}

fn run(dir: &Path, args: &[String]) -> Ran {
    swerl(dir, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Files below a folder in place: name to bytes and identity.
fn placed(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, (u64, i64))> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name == ".partial" || name == ".lock" {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let (Ok(bytes), Ok(meta)) = (fs::read(&path), fs::metadata(&path)) {
                let name = path.strip_prefix(dir).expect("it is below").to_path_buf();
                found.insert(name, (bytes, (meta.ino(), meta.mtime_nsec())));
            }
        }
    }
    found
}

fn bytes(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    placed(dir).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

/// Numbers of a report that do not depend on how often the work was stopped.
fn lasting(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut report: Value = serde_json::from_str(&ran.stdout).expect("the report is JSON");
    report.as_object_mut().expect("an object").remove("resumed");
    report
}

#[test]
fn stages_make_what_is_made_in_memory() {
    let dir = tempdir().unwrap();
    let path = dir.path();
    let reports: Vec<Value> = stages().iter().map(|(args, _)| lasting(&run(path, args))).collect();
    let (events, repos) = (corpus("events"), corpus("repos"));
    let memory =
        swerl(path, &["curate", "all", &events, "--repos", &repos, "--out", "m.jsonl", "--json"]);
    assert_eq!(reports[2], lasting(&memory));
    let read = |name: &str| fs::read(path.join(name)).unwrap();
    assert_eq!(read("seeds.jsonl"), read("m.jsonl"));
    let all = ["curate", "all", &events, "--repos", &repos, "--work", "w", "--out", "a.jsonl"];
    let all = swerl(path, &[&all[..], &["--json", "--card", "card"]].concat());
    assert_eq!(lasting(&all), reports[2]);
    assert_eq!(read("a.jsonl"), read("m.jsonl"));
    assert_eq!(names(&path.join("w")), ["events", "pulls", "seeds"]);
}

#[test]
fn killed_stages_end_with_the_same_bytes() {
    let (calm, killed) = (tempdir().unwrap(), tempdir().unwrap());
    for (args, made) in &stages() {
        let undisturbed = lasting(&run(calm.path(), args));
        let folder = killed.path().join(made);
        let total = placed(&calm.path().join(made)).len();
        let mut hits = 0;
        // Killed before anything is placed, and after more and more is.
        for part in [0, 1, 2, 3] {
            let target = total * part / 4;
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut child = command(killed.path(), &args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                if folder.join(".partial").is_dir() && placed(&folder).len() >= target {
                    child.kill().unwrap();
                    break child.wait().unwrap();
                }
                thread::sleep(Duration::from_micros(200));
            };
            hits += u32::from(status.signal() == Some(9));
            let before = placed(&folder);
            let torn = before
                .iter()
                .find(|(name, (bytes, _))| bytes != &placed(&calm.path().join(made))[*name].0);
            assert!(torn.is_none(), "{made}: {:?} is torn", torn.map(|(name, _)| name));
        }
        assert!(hits >= 2, "{made}: only {hits} kills came before the end");
        let before = placed(&folder);
        assert_eq!(lasting(&run(killed.path(), args)), undisturbed, "{made}");
        let after = placed(&folder);
        for (name, (_, identity)) in &before {
            let report = name.ends_with("ingest.json");
            assert!(report || after[name].1 == *identity, "{made}: {name:?} was made again");
        }
        assert_eq!(bytes(&folder), bytes(&calm.path().join(made)), "{made}");
        assert!(!folder.join(".partial").exists());
    }
    let seeds = |dir: &TempDir| fs::read(dir.path().join("seeds.jsonl")).unwrap();
    assert_eq!(seeds(&killed), seeds(&calm));
}

/// Runs the command where no file may grow beyond `blocks` of 512 bytes, as on a disk that is full.
fn on_a_full_disk(dir: &Path, args: &[String], blocks: u32) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .current_dir(dir)
        .args(["-c", &script, env!("CARGO_BIN_EXE_swerl")])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("sh is installed")
        .into()
}

#[test]
fn a_full_disk_tears_nothing() {
    let dir = tempdir().unwrap();
    for (args, made) in &stages() {
        let ran = on_a_full_disk(dir.path(), args, 1);
        fails(&ran, 1, &["cannot write ", "File too large"]);
        let torn = placed(&dir.path().join(made)).into_keys().find(|name| {
            !["ingest.json", "aggregate.json", "seeds.json"]
                .iter()
                .any(|small| name.ends_with(small))
                && name.extension().is_some_and(|kind| kind == "parquet" || kind == "jsonl")
        });
        assert_eq!(torn, None, "{made}");
        lasting(&run(dir.path(), args));
    }
}

#[test]
fn files_set_aside_fail_the_command() {
    let dir = tempdir().unwrap();
    let events = dir.path().join("events");
    fs::create_dir(&events).unwrap();
    for entry in fs::read_dir(corpus("events")).unwrap().flatten() {
        fs::copy(entry.path(), events.join(entry.file_name())).unwrap();
    }
    let first = names(&events)[0].clone();
    let whole = fs::read(events.join(&first)).unwrap();
    fs::write(events.join(&first), &whole[..whole.len() - 5]).unwrap();
    let ran = swerl(dir.path(), &["curate", "ingest", "events", "--out", "in"]);
    fails(&ran, 1, &["1 of ", "files were set aside, such as", &first, "in/quarantine"]);
    assert!(ran.stdout.contains("1  files set aside"), "{}", ran.stdout);
    fs::write(events.join(&first), &whole).unwrap();
    let ran = swerl(dir.path(), &["curate", "ingest", "events", "--out", "in"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let args = ["curate", "aggregate", "nowhere", "--out", "pulls"];
    fails(&swerl(dir.path(), &args), 1, &["cannot read nowhere"]);
    let args = ["curate", "seeds", "in", "--repos", ".", "--out", "s.jsonl"];
    fails(&swerl(dir.path(), &args), 1, &["in: this stage is not finished"]);
}
