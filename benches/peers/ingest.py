#!/usr/bin/env python3
"""Times `swerl curate ingest` beside a plain Python loop and DuckDB on the same synthetic events.

    cargo build --release -p swerl --features ingest
    cargo build --release -p swerl-data --features ingest --example inflate
    pip install duckdb
    benches/peers/ingest.py [--megabytes 500] [--target target/release] [--rounds 3]

Makes the events in a temporary folder (the same bytes each time), runs all in turn, `--rounds` times, and
prints the best of each as MB/s of uncompressed JSON, events/s and ratios. Every program keeps the same
fields of the same event types; ours and DuckDB write parquet (zstd), the Python loop writes nothing.
"""

import argparse
import functools
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = ("PullRequestEvent", "IssuesEvent", "IssueCommentEvent")
# Shares of the lines, about as in GH Archive.
MIX = [("PushEvent", 52), ("CreateEvent", 13), ("WatchEvent", 8), ("DeleteEvent", 4), ("ForkEvent", 3),
       ("PullRequestEvent", 8), ("IssuesEvent", 4), ("IssueCommentEvent", 8)]
WORDS = [f"{a}{b}" for a in "ka lo mi ne ru so ti va xe zu".split() for b in "bar del fon gat hil jun".split()]


PROSE = " ".join(random.Random(1).choices(WORDS, k=200_000))


def text(dice, words):
    """About that many words; the longer ones with code and quotes."""
    start = dice.randrange(len(PROSE) // 2)
    return PROSE[start:start + 6 * words] + ("\n```\nx = \"1\"\n```\n" if words > 30 else "")


@functools.lru_cache(maxsize=None)
def user(number):
    base = f"https://api.github.com/users/u{number}"
    tails = ("followers", "following{/other_user}", "gists{/gist_id}", "starred{/owner}{/repo}", "subscriptions",
             "orgs", "repos", "events{/privacy}", "received_events")
    return {"login": f"u{number}", "id": number, "node_id": f"U_{number:x}", "avatar_url": base, "url": base,
            **{f"{tail.split('{')[0]}_url": f"{base}/{tail}" for tail in tails},
            "type": "Bot" if number % 20 == 0 else "User", "site_admin": False}


@functools.lru_cache(maxsize=None)
def repository(number):
    dice = random.Random(number)
    base = f"https://api.github.com/repos/u{number}/r{number}"
    return {"id": number, "name": f"r{number}", "full_name": f"u{number}/r{number}", "owner": user(number % 2_000),
            "description": text(dice, 8),
            **{f"{WORDS[place]}_url": f"{base}/{WORDS[place]}{{/sha}}" for place in range(40)},
            "size": dice.randrange(10**6), "topics": dice.choices(WORDS, k=3), "default_branch": "main"}


def issue(dice, number, repo):
    base = f"https://api.github.com/repos/u{repo}/r{repo}/issues/{number}"
    return {"url": base, "labels_url": base, "html_url": base, "id": number, "number": number,
            "title": text(dice, 7), "user": user(number % 2_000), "state": "open",
            "labels": [{"name": "bug", "color": "f00"}] if dice.random() < 0.4 else [],
            "created_at": "2020-01-01T00:00:00Z", "body": text(dice, dice.randrange(20, 250))}


def event(dice, number):
    kind = dice.choices([kind for kind, _ in MIX], [share for _, share in MIX])[0]
    repo = dice.randrange(2_000)
    at = f"2020-01-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:00Z"
    if kind == "PullRequestEvent":
        merged = dice.random() < 0.4
        end = {"label": "x", "ref": "main", "sha": f"{dice.getrandbits(160):040x}", "user": user(repo)}
        pull = {**issue(dice, dice.randrange(9_999), repo), "merged_at": at if merged else None, "merged": merged,
                "merge_commit_sha": f"{dice.getrandbits(160):040x}", "head": {**end, "repo": repository(repo)},
                "base": {**end, "repo": repository(repo)}, "additions": 3, "deletions": 1}
        payload = {"action": "closed", "number": pull["number"], "pull_request": pull}
    elif kind == "IssuesEvent":
        payload = {"action": "opened", "issue": issue(dice, dice.randrange(9_999), repo)}
    elif kind == "IssueCommentEvent":
        comment = {"id": number, "user": user(number % 2_000), "body": text(dice, dice.randrange(5, 120))}
        payload = {"action": "created", "issue": issue(dice, dice.randrange(9_999), repo), "comment": comment}
    elif kind == "PushEvent":
        commits = [{"sha": f"{dice.getrandbits(160):040x}", "author": {"email": "a@example.org", "name": "A"},
                    "message": text(dice, 12), "url": "https://api.github.com"} for _ in range(dice.randrange(1, 4))]
        payload = {"push_id": number, "size": len(commits), "ref": "refs/heads/main", "commits": commits}
    else:
        payload = {"ref": "main", "description": text(dice, 6), "pusher_type": "user"}
    return {"id": str(10**10 + number), "type": kind, "actor": user(number % 2_000) if kind == "ForkEvent"
            else {"id": number, "login": f"u{number}", "url": "https://api.github.com"},
            "repo": {"id": repo, "name": f"u{repo}/r{repo}", "url": "https://api.github.com"},
            "payload": payload, "public": True, "created_at": at}


def make(folder, megabytes, files=10):
    """Writes the files; bytes of JSON and lines."""
    dice, number, total = random.Random(7), 0, 0
    for hour in range(files):
        size = 0
        with gzip.open(folder / f"2020-01-01-{hour}.json.gz", "wb", compresslevel=6) as out:
            while size < megabytes * 10**6 // files:
                line = json.dumps(event(dice, number), separators=(",", ":")).encode() + b"\n"
                out.write(line)
                size, number = size + len(line), number + 1
        total += size
    return total, number


def python_loop(folder):
    kept = 0
    for path in sorted(folder.glob("*.json.gz")):
        with gzip.open(path) as lines:
            for line in lines:
                row = json.loads(line)
                if row["type"] in KINDS:
                    payload = row["payload"]
                    subject = payload.get("pull_request") or payload["issue"]
                    fields = (row["id"], row["created_at"], row["repo"]["name"], subject["number"],
                              subject["title"], subject["body"], payload.get("comment"))
                    kept += len(fields) > 0
    return kept


def duckdb_copy(folder, out, threads):
    import duckdb
    user_type = "STRUCT(login VARCHAR, type VARCHAR)"
    shared = "number UBIGINT, title VARCHAR, body VARCHAR, labels STRUCT(name VARCHAR)[]"
    pull = (f"STRUCT({shared}, \"user\" {user_type}, created_at TIMESTAMP, merged_at TIMESTAMP, merged BOOLEAN, "
            "merge_commit_sha VARCHAR, base STRUCT(sha VARCHAR), head STRUCT(sha VARCHAR))")
    issue_type = f"STRUCT({shared}, html_url VARCHAR, pull_request STRUCT(url VARCHAR))"
    payload = (f"STRUCT(\"action\" VARCHAR, pull_request {pull}, issue {issue_type}, "
               f"comment STRUCT(id UBIGINT, \"user\" {user_type}, body VARCHAR))")
    columns = {"id": "VARCHAR", "type": "VARCHAR", "created_at": "TIMESTAMP", "repo": "STRUCT(name VARCHAR)",
               "payload": payload}
    session = duckdb.connect()
    session.execute(f"SET threads = {threads}")
    named = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
    session.execute(
        f"COPY (SELECT * FROM read_json('{folder}/*.json.gz', format = 'newline_delimited', columns = {{{named}}}) "
        f"WHERE type IN {KINDS}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
    return session.execute(f"SELECT count(*) FROM '{out}'").fetchone()[0]


def swerl(folder, out, binary, threads):
    shutil.rmtree(out, ignore_errors=True)
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    report = subprocess.run([binary, "curate", "ingest", folder, "--out", out, "--json", "--quiet"], check=True,
                            capture_output=True, env=environment)
    report = json.loads(report.stdout)
    return report["pull_requests"] + report["issues"] + report["comments"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=500)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target/release"))
    options = options.parse_args()
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        events = pathlib.Path(name) / "events"
        events.mkdir()
        size, lines = make(events, options.megabytes)
        stored = sum(path.stat().st_size for path in events.iterdir())
        print(f"{size / 1e6:.0f} MB of JSON, {stored / 1e6:.0f} MB compressed, {lines} events; "
              f"{cores} cores, load {os.getloadavg()[0]:.1f}")
        out, table = pathlib.Path(name) / "out", pathlib.Path(name) / "out.parquet"
        binary, inflate = options.target / "swerl", options.target / "examples" / "inflate"
        many = f"{cores} threads"
        runs = {
            "Python json+gzip": lambda: python_loop(events),
            "DuckDB, 1 thread": lambda: duckdb_copy(events, table, 1),
            f"DuckDB, {many}": lambda: duckdb_copy(events, table, cores),
            "swerl, 1 thread": lambda: swerl(events, out, binary, 1),
            f"swerl, {many}": lambda: swerl(events, out, binary, cores),
            "inflate alone, 1 thread": lambda: subprocess.run([inflate, events], check=True, capture_output=True) and None,
        }
        best, kept = {}, {}
        for _ in range(options.rounds):
            for what, call in runs.items():
                start = time.perf_counter()
                kept[what] = call()
                took = time.perf_counter() - start
                best[what] = min(took, best.get(what, took))
        if len({count for count in kept.values() if count is not None}) != 1:
            sys.exit(f"the programs kept different numbers of events: {kept}")
        python = best["Python json+gzip"]
        for what, took in best.items():
            print(f"{what:26} {took:7.2f} s {size / 1e6 / took:7.0f} MB/s {lines / took:9.0f} events/s "
                  f"{python / took:6.1f} x Python")
        for threads in ("1 thread", many):
            print(f"swerl / DuckDB, {threads}: {best[f'DuckDB, {threads}'] / best[f'swerl, {threads}']:.2f}")
        print(f"inflate: {best['inflate alone, 1 thread'] / best['swerl, 1 thread']:.0%} of swerl on 1 thread")


if __name__ == "__main__":
    main()
