#!/usr/bin/env python3
"""Times difflib and cydifflib on the pairs of `similarity-pairs` and prints the ratios.

usage: cargo run --release -p swerl-benches --bin similarity-pairs > PAIRS
       benches/peers/similarity.py PAIRS        (pip install cydifflib for its column)

Timed: SequenceMatcher(None, a, b, autojunk=False).ratio() on one thread, the fastest of three
calls up to 5,000 characters, else one call. Every ratio must be equal to ours to the last bit.
"""

import difflib
import json
import statistics
import sys
import time

try:
    import cydifflib
except ImportError:
    cydifflib = None


def seconds(module, pair):
    fastest = float("inf")
    for _ in range(3 if pair["characters"] <= 5000 else 1):
        start = time.perf_counter()
        ratio = module.SequenceMatcher(None, pair["a"], pair["b"], autojunk=False).ratio()
        fastest = min(fastest, time.perf_counter() - start)
        if ratio != pair["ratio"]:
            sys.exit(f"{module.__name__}: ratio {ratio!r}, ours {pair['ratio']!r} (seed {pair['seed']})")
    return fastest


def main(path, pairs_of_a_length):
    with open(path, encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]
    print("characters  ours (us)  difflib / ours  cydifflib / ours   (medians over pairs)")
    for characters in sorted({pair["characters"] for pair in pairs}):
        some = [pair for pair in pairs if pair["characters"] == characters][:pairs_of_a_length]
        row = [f"{characters:10d}", f"{statistics.median(p['seconds'] for p in some) * 1e6:10.1f}"]
        for module in (difflib, cydifflib):
            if module is None:
                row.append("not installed")
                continue
            ratios = [seconds(module, pair) / pair["seconds"] for pair in some]
            row.append(f"{statistics.median(ratios):15.0f}")
        print("  ".join(row), flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 8)
