"""The event files of `swerl view --tensorboard`, read back by TensorBoard's own reader.

    python3 tensorboard.py SWERL OUT_DIR

SWERL is the built command. Exit code 0: every number of the golden run came back at its step; 1: not, or there
is no TensorBoard (`pip install tensorboard`).
"""

import json
import pathlib
import struct
import subprocess
import sys

# This file has the package's name: its folder must not come first.
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path(__file__).parent]

RUN = pathlib.Path(__file__).parent.parent / "golden" / "run"


def single(value):
    """The nearest 32-bit float: TensorBoard's scalars."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def numbers(prefix, value):
    """(tag, number) of a metrics line, as the command names them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(name if prefix in ("", "train") else f"{prefix}.{name}", inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and prefix not in ("step", "rollouts.step"):
        yield (prefix.replace(".", "/") if "." in prefix else f"train/{prefix}"), value


def main(swerl, out):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError as error:
        print(f"error: no TensorBoard for this python3 ({error}): pip install tensorboard", file=sys.stderr)
        return 1
    events = out / "events"
    subprocess.run([swerl, "view", str(RUN), "--tensorboard", str(events)], check=True)
    compared = 0
    for stage in ("grpo", "sft"):
        reader = EventAccumulator(str(events / stage), size_guidance={"scalars": 0})
        reader.Reload()
        read = {}
        for tag in reader.Tags()["scalars"]:
            scalars = reader.Scalars(tag)
            read[tag] = {scalar.step: scalar.value for scalar in scalars}
            walls = [scalar.wall_time for scalar in scalars]
            assert walls == sorted(walls) and walls[0] > 1e9, f"{tag}: wall times {walls[:3]}"
        for line in (RUN / f"{stage}-metrics.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            whole = "train" in record
            named = {(f"run.{k}" if whole and not isinstance(v, dict) and k != "step" else k): v for k, v in record.items()}
            for tag, value in (pair for name, inner in named.items() for pair in numbers(name, inner)):
                if tag.startswith("times/"):
                    continue  # Zero here; the real ones stand in the timings.
                found = read[tag][record["step"]]
                assert found == single(value), f"{stage} {tag} step {record['step']}: {found} for {value}"
                compared += 1
        for line in (RUN / f"{stage}-timings.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            for name, value in record["times"].items():
                assert read[f"times/{name}"][record["step"]] == single(value), f"{stage} {name}"
                compared += 1
    reader = EventAccumulator(str(events / "evaluation"))
    reader.Reload()
    assert len(reader.Tags()["scalars"]) == 11, reader.Tags()["scalars"]
    after = reader.Scalars("held_out/reward/after")[0]
    assert after.step == json.loads((RUN / "evaluation-after.json").read_text())["weights_version"], after
    print(f"TensorBoard read {compared} numbers back, all equal as 32-bit floats")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
