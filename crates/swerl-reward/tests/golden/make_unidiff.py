#!/usr/bin/env python3
"""Writes unidiff.json: mutated unified diffs and what PyPI's unidiff 1.0.1 reads in them.

usage: pip install unidiff==1.0.1
       make_unidiff.py [COUNT [SEED]] > unidiff.json

A text that unidiff refuses has the patches null. The patches are those of the rules in
docs/reward.md: binary files and files without change left out, a rename keyed by its source and
named in its first line, hunks trimmed and joined by LF, the later of two files of one path.
"""

import json
import random
import sys

from unidiff import PatchSet
from unidiff.errors import UnidiffParseError

SEEDS = [
    "--- a/f\n+++ b/f\n@@ -2 +2 @@ def f():\n-two\n+TWO\n",
    "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n@@ -9 +9 @@\n-x\n+y\n",
    "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
    "diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    "diff --git a/o b/n\nsimilarity index 50%\nrename from o\nrename to n\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/o b/n\nrename from o\nrename to n\n",
    "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n",
    "Binary files x\t2020-01-01 10:00 and y differ\n--- f.c\t2020-01-01\n+++ f.c\t2020\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\nabc\n\n",
    "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
    "From 1 Mon\nSubject: x\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n"
    "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n-- \n2.40\n",
    "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n \r\n",
]
LINES = [
    "\n", "+++ b/f\n", "--- a/f\n", "--- \n", "\\ No newline at end of file\n", "\\ Kein Zeilenumbruch\n",
    "prose\n", "```\n", "@@ -1 +1 @@\n", "@@ -0,0 +0,0 @@\n", "@@ -007 +1,1 @@x\n", "+x\n", "-x\n", " x\n",
    "\r\n", "\rx\n", "*\n", "diff --git a/b b/b b/b\n", "diff --git x y\n", "diff --git \"a/q r\" \"b/q r\"\n",
    "new file mode 100644\n", "deleted file mode 1\n", "GIT binary patch\n", "Binary file x has changed\n",
    "@@ -99999999999999999999 +1 @@\n", "@@ -1 +1,99999999999999999999 @@\n", "+\u2028\n", " \x1c\n",
]


def mutated(draw):
    lines = "".join(draw.choice(SEEDS) for _ in range(draw.randint(1, 3))).splitlines(keepends=True)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 4])):
        at = draw.randrange(len(lines) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            del lines[at : at + draw.randint(1, 2)]
        elif kind == 1:
            lines[at:at] = lines[at : at + 2]
        elif kind == 2 and at < len(lines):
            text = lines[at]
            cut = draw.randrange(len(text) + 1)
            lines[at] = text[:cut] + draw.choice(["", " ", "\t", "\n", "0", "a", ",", "\r"]) + text[cut + draw.randint(0, 1) :]
        else:
            lines.insert(at, draw.choice(LINES))
    text = "".join(lines)
    return text[:-1] if draw.random() < 0.2 else text


def bare(name):
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        name = name[1:-1]
    return name[2:] if name.startswith(("a/", "b/")) else name


def patches(text):
    try:
        files = PatchSet(text)
    except UnidiffParseError:
        return None
    found = {}
    for file in files:
        if file.is_binary_file:
            continue
        source, target = bare(file.source_file), bare(file.target_file)
        parts = [f"rename from {source} to {target}"] if file.is_rename else []
        parts += [str(hunk).strip() for hunk in file]
        if parts:
            found[target if file.source_file == "/dev/null" else source] = "\n".join(parts)
    return found


def main(count=400, seed=1):
    draw = random.Random(seed)
    print("[")
    for number in range(count):
        text = mutated(draw)
        end = "," if number + 1 < count else ""
        print(json.dumps({"text": text, "patches": patches(text)}) + end)
    print("]")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
