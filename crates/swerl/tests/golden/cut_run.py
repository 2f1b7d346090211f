"""Cuts the run folder `run/` out of one that the example llama70b made, and `seeds.jsonl` out of its corpus.

    python3 cut_run.py RUN SEEDS.jsonl    # from tests/golden/

Kept of the trace: steps 0, 11 and 23, of each the two prompts whose completions have most different
outcomes. Kept of the tokenizer: the pieces that occur.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
STEPS = (0, 11, 23)
LINES = {"grpo-metrics": 24, "grpo-timings": 24, "sft-metrics": 60, "sft-timings": 60}
RESULTS = 60


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def trace(source):
    groups = {}
    for line in source.open(encoding="utf-8"):
        record = json.loads(line)
        if record["step"] in STEPS:
            groups.setdefault((record["step"], record["prompt"]), []).append((line, record))
    kept = []
    for step in STEPS:
        def variety(key):
            kinds = {record["score"]["outcome"]["kind"] for _, record in groups[key][1:]}
            return (-len(kinds), key)
        kept += sorted(sorted((key for key in groups if key[0] == step), key=variety)[:2])
    return [pair for key in kept for pair in groups[key]]


def main(run, seeds):
    out = HERE / "run"
    for name, count in LINES.items():
        lines = (run / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        write(out / f"{name}.jsonl", "".join(lines[:count]))
    for name in ("base", "before", "after"):
        value = json.loads((run / f"evaluation-{name}.json").read_text(encoding="utf-8"))
        value["results"] = value["results"][:RESULTS]
        write(out / f"evaluation-{name}.json", compact(value) + "\n")
    for name in ("summary.json", "sft.json"):
        write(out / name, (run / name).read_text(encoding="utf-8"))
    state = json.loads((run / "grpo/step-00000024/state.json").read_text(encoding="utf-8"))
    state["config"]["identity"]["seeds"] = state["config"]["identity"]["seeds"][:400]
    state["parameters"] = {}
    write(out / "grpo/step-00000024/state.json", compact(state) + "\n")
    pairs = trace(run / "rollouts.jsonl")
    write(out / "rollouts.jsonl", "".join(line for line, _ in pairs))
    ids = {record["id"] for _, record in pairs if record["kind"] == "prompt"}
    kept = [line for line in seeds.open(encoding="utf-8") if json.loads(line)["id"] in ids]
    write(HERE / "seeds.jsonl", "".join(kept))
    tokenizer = json.loads((run / "model/tokenizer.json").read_text(encoding="utf-8"))
    used = {token for _, record in pairs for token in record["ids"]}
    vocab = {piece: at for piece, at in tokenizer["model"]["vocab"].items() if at in used}
    write(
        out / "model/tokenizer.json",
        compact(
            {
                "decoder": tokenizer["decoder"],
                "added_tokens": tokenizer["added_tokens"],
                "model": {"type": "BPE", "vocab": vocab},
            }
        )
        + "\n",
    )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
