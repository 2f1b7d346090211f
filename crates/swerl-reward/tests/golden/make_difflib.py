#!/usr/bin/env python3
"""Makes random pairs of texts with CPython's own ratio and unified diff.

usage: make_difflib.py OUT.json [PAIRS [SEED]]          (`cargo xtask golden difflib` calls it)

The standard library only. Ratio: code points, autojunk off. Patch: str.splitlines, unified diff with three lines of
context, autojunk on, the two file header lines removed, joined by LF. Alphabets are hostile: two letters,
runs of spaces, code, line ends of all kinds, astral and combining characters, many distinct lines.
"""

import difflib
import json
import random
import sys

ALPHABETS = [
    ["a", "b"],
    ["aa", "ab", "ba"],
    [" ", "  ", "    ", "\n", "x", "\t"],
    ["def f(x):\n", "    return x\n", "if x", " == ", "None", "self.", "a", "(", ")", "\n", "    "],
    ["a\r\n", "b\n", "\r", "\n", "a", "\r\n"],
    ["\u2028", "a", "\x85", "\x1c", "\x0b", "\x0c", "\u2029", "\n", "b"],
    ["\U0001f600", "\U0001d49c", "e\u0301", "\u00e9", "\u65e5", "\u672c", "\n", "a"],
    ["pass\n", "\n", "}\n", "x = 1\n", "y\n"],
]


def changed(words, alphabet, random):
    words = list(words)
    for _ in range(random.randrange(1 + len(words) // 4)):
        if not words:
            break
        at, kind = random.randrange(len(words)), random.randrange(4)
        if kind == 0:
            del words[at]
        elif kind == 1:
            words.insert(at, random.choice(alphabet))
        elif kind == 2:
            words[at] = random.choice(alphabet)
        else:  # a piece that moves, where ties show
            piece, words[at : at + 5] = words[at : at + 5], []
            to = random.randrange(len(words) + 1)
            words[to:to] = piece
    return words


def pair(number, seed):
    draws = random.Random(f"{seed}/{number}")
    alphabet = draws.choice(ALPHABETS)
    if draws.random() < 0.3:
        alphabet = alphabet + [f"{n}\n" for n in range(draws.choice([20, 300]))]
    length = draws.choice([4, 15, 50, 120, 300])
    a = [draws.choice(alphabet) for _ in range(draws.randrange(length))]
    if draws.random() < 0.3:
        b = [draws.choice(alphabet) for _ in range(draws.randrange(length))]
    else:
        b = changed(a, alphabet, draws)
    return "".join(a), "".join(b)


def main(out, pairs, seed):
    cases = []
    for number in range(pairs):
        a, b = pair(number, seed)
        lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=3))
        ratio = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
        cases.append({"a": a, "b": b, "ratio": ratio, "patch": "\n".join(lines[2:])})
    with open(out, "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")
    print(f"{pairs} pairs, seed {seed}: {out}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 600, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
