//! Events to parquet parts: what is done, set aside, resumed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde_json::{Value, json};
use swerl_data::{DataError, IngestOptions, IngestReport, NoProgress, Progress, ingest};
use tempfile::TempDir;

use crate::fixture::{issue, write_events};

/// An events folder and an output folder.
struct Folders {
    dir: TempDir,
}

impl Folders {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn event_file(&self, name: &str, events: &[Value]) -> PathBuf {
        let path = self.dir.path().join("events").join(name);
        write_events(&path, events);
        path
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn run(&self) -> Result<IngestReport, DataError> {
        self.run_with(&IngestOptions::default())
    }

    fn run_with(&self, options: &IngestOptions) -> Result<IngestReport, DataError> {
        ingest(self.dir.path().join("events"), self.out(), options, &NoProgress)
    }
}

fn issues(range: std::ops::Range<u64>) -> Vec<Value> {
    range.map(|n| issue(n, "2020-01-31T00:00:00Z", n + 1, &format!("t{n}"), "b", &[])).collect()
}

/// All files below a folder with their bytes, but for the lock.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().unwrap() != ".lock" {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn written(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn parts_by_month_and_counts() {
    let folders = Folders::new();
    let mut first = issues(0..3);
    first.push(json!({"id": "9", "type": "WatchEvent", "payload": {}}));
    folders.event_file("2016-05-04-12.json.gz", &first);
    folders.event_file("sub dir/2016-06-01-0.json.gz", &issues(3..5));
    folders.event_file("unnamed.json.gz", &issues(5..6));
    folders.event_file("empty+1.json.gz", &[json!({"id": "9", "type": "WatchEvent"})]);
    let report = folders.run().unwrap();
    assert_eq!((report.files, report.resumed, report.quarantined.len()), (4, 0, 0));
    assert_eq!((report.counts.issues, report.counts.lines, report.counts.bad_lines), (6, 8, 0));
    let names: Vec<String> = files(&folders.out()).into_keys().collect();
    let expected = [
        "ingest.json",
        "month=2016-05/2016-05-04-12.json.gz.parquet",
        "month=2016-06/sub+20dir+2F2016-06-01-0.json.gz.parquet",
        "month=2020-01/unnamed.json.gz.parquet",
        "month=none/empty+2B1.json.gz.parquet",
    ];
    assert_eq!(names, expected);
}

#[test]
fn slim_payloads_are_counted() {
    let folders = Folders::new();
    let pull = |title: Value| {
        let pull = json!({"number": 1, "title": title, "base": {"sha": "a"}, "head": {"sha": "b"}});
        json!({"id": "1", "type": "PullRequestEvent", "created_at": "2025-11-01T00:00:00Z",
            "repo": {"name": "a/b"}, "payload": {"action": "closed", "pull_request": pull}})
    };
    folders.event_file("2025-11-01-0.json.gz", &[pull(Value::Null), pull(json!("t"))]);
    let counts = folders.run().unwrap().counts;
    assert_eq!((counts.pull_requests, counts.slim), (2, 1));
}

#[test]
fn bad_files_are_set_aside_and_tried_again() {
    let folders = Folders::new();
    folders.event_file("2020-01-01-0.json.gz", &issues(0..5));
    let cut = folders.event_file("2020-01-01-1.json.gz", &issues(0..2_000));
    let whole = fs::read(&cut).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let plain = folders.event_file("2020-01-01-2.json.gz", &[]);
    fs::write(&plain, "no gzip at all").unwrap();
    fs::write(folders.event_file("2020-01-01-3.json.gz", &[]), "").unwrap();
    folders.event_file("2020-01-01-4.json.gz", &vec![json!([1]); 101]);
    let report = folders.run().unwrap();
    assert_eq!(report.files, 1);
    let reasons: Vec<&str> = report.quarantined.iter().map(|found| found.reason.as_str()).collect();
    assert!(reasons[0].starts_with("damaged or truncated after line "), "{reasons:?}");
    assert!(reasons[1].contains("after line 0: invalid gzip header"), "{reasons:?}");
    assert_eq!(reasons[2], "damaged or truncated after line 0: unexpected end of file");
    assert!(reasons[3].starts_with("more than 100 bad lines; 2020-01-01-4.json.gz:1: not"));
    let note = folders.out().join("quarantine/2020-01-01-1.json.gz.json");
    let note: Value = serde_json::from_slice(&fs::read(note).unwrap()).unwrap();
    assert_eq!(note["source"], "2020-01-01-1.json.gz");
    assert_eq!(note["reason"], reasons[0]);

    fs::write(&cut, &whole).unwrap();
    let again = folders.run().unwrap();
    assert_eq!((again.files, again.resumed, again.quarantined.len()), (2, 1, 3));
    let left = files(&folders.out());
    assert!(!left.contains_key("quarantine/2020-01-01-1.json.gz.json"), "{:?}", left.keys());
    assert_eq!(again.counts.issues, 2_005);
}

#[test]
fn few_bad_lines_are_passed_over() {
    let folders = Folders::new();
    let mut events = issues(0..4);
    events.insert(2, json!("no event"));
    folders.event_file("2020-01-01-0.json.gz", &events);
    let report = folders.run().unwrap();
    assert_eq!((report.files, report.counts.issues, report.counts.bad_lines), (1, 4, 1));
    let first = &report.first_bad_lines[0];
    assert!(first.starts_with("2020-01-01-0.json.gz:3: not an event: "), "{first}");
    let strict = IngestOptions { max_bad_lines: 0, ..IngestOptions::default() };
    fs::remove_dir_all(folders.out()).unwrap();
    assert_eq!(folders.run_with(&strict).unwrap().quarantined.len(), 1);
}

#[test]
fn what_is_done_stays_and_bytes_repeat() {
    let folders = Folders::new();
    for hour in 0..6 {
        folders.event_file(&format!("2020-01-01-{hour}.json.gz"), &issues(0..50 + hour));
    }
    let report = folders.run().unwrap();
    let first = files(&folders.out());
    let part =
        |hour: u32| folders.out().join(format!("month=2020-01/2020-01-01-{hour}.json.gz.parquet"));
    let kept = written(&part(3));
    // As after a kill: two parts are missing, one is half written aside.
    fs::remove_file(part(1)).unwrap();
    fs::remove_file(part(4)).unwrap();
    fs::remove_file(folders.out().join("ingest.json")).unwrap();
    fs::create_dir_all(folders.out().join(".partial")).unwrap();
    fs::write(folders.out().join(".partial/2020-01-01-4.json.gz.parquet"), "PAR1").unwrap();
    let again = folders.run().unwrap();
    assert_eq!((again.files, again.resumed), (6, 4));
    assert_eq!(again.counts, report.counts);
    assert_eq!(files(&folders.out()), first);
    assert_eq!(written(&part(3)), kept, "what was done is not done again");
    // An input that was fetched again with another size.
    folders.event_file("2020-01-01-3.json.gz", &issues(0..500));
    let third = folders.run().unwrap();
    assert_eq!((third.resumed, third.counts.issues), (5, report.counts.issues - 53 + 500));
}

#[test]
fn small_row_groups_hold_the_same_events() {
    let folders = Folders::new();
    folders.event_file("2020-01-01-0.json.gz", &issues(0..300));
    let small = IngestOptions { row_bytes: 10_000, ..IngestOptions::default() };
    assert_eq!(folders.run_with(&small).unwrap().counts.issues, 300);
    let part = folders.out().join("month=2020-01/2020-01-01-0.json.gz.parquet");
    let small = fs::metadata(&part).unwrap().len();
    fs::remove_file(&part).unwrap();
    folders.run().unwrap();
    assert!(small > fs::metadata(&part).unwrap().len(), "many groups take more room than one");
}

/// Sums what is told.
#[derive(Default)]
struct Sums {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress for Sums {
    fn start(&self, total: u64, _: &str) {
        self.total.fetch_add(total, Ordering::SeqCst);
    }
    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::SeqCst);
    }
    fn finish(&self) {}
}

#[test]
fn progress_reaches_its_total() {
    let folders = Folders::new();
    let file = folders.event_file("2020-01-01-0.json.gz", &issues(0..10));
    let bad = folders.event_file("2020-01-01-1.json.gz", &[]);
    fs::write(&bad, "bad").unwrap();
    let sums = Sums::default();
    let events = folders.dir.path().join("events");
    ingest(events, folders.out(), &IngestOptions::default(), &sums).unwrap();
    let bytes = fs::metadata(file).unwrap().len() + 3;
    assert_eq!((sums.total.into_inner(), sums.done.into_inner()), (bytes, bytes));
}

#[test]
fn the_folder_can_be_wrong() {
    let folders = Folders::new();
    assert!(matches!(folders.run(), Err(DataError::Read { .. })));
    fs::create_dir(folders.dir.path().join("events")).unwrap();
    assert!(matches!(folders.run(), Err(DataError::NoEvents { .. })));
    folders.event_file("2020-01-01-0.json.gz", &issues(0..1));
    fs::write(folders.out(), "a file").unwrap();
    let error = folders.run().unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}
