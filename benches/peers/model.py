"""Decoding and training of a Hugging Face folder: this project beside transformers on PyTorch, f32, CPU.

    python benches/peers/model.py DIR                 # needs torch and transformers
    python benches/peers/model.py DIR --speed target/release/examples/speed --threads 2

Each measurement is a process of its own, so that peak memory is its own; the two take turns. Greedy
tokens of both are compared. Prints one line a measurement and, at the end, the table as JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time

DECODE = [(1, 128, 128), (8, 128, 128)]
TRAIN = [(4, 128)]


def token(row, at, vocabulary):
    return (row * 7919 + at * 104729 + 17) % (vocabulary - 100) + 50


def peak_mb():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def load(folder, threads):
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    return torch, AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def peer_decode(folder, threads, batch, prompt, new, repeats=3):
    torch, model = load(folder, threads)
    vocabulary = model.config.vocab_size
    ids = torch.tensor([[token(row, at, vocabulary) for at in range(prompt)] for row in range(batch)])
    mask = torch.ones_like(ids)
    best, tokens = float("inf"), None
    with torch.no_grad():
        for _ in range(repeats):
            start = time.perf_counter()
            out = model.generate(
                ids, attention_mask=mask, do_sample=False, max_new_tokens=new, min_new_tokens=new,
                eos_token_id=None, pad_token_id=0,
            )
            best = min(best, time.perf_counter() - start)
            tokens = out[0, prompt:].tolist()
    return {"tokens_per_s": batch * new / best, "peak_mb": peak_mb(), "tokens": tokens}


def peer_train(folder, threads, rows, tokens, steps=4):
    torch, model = load(folder, threads)
    vocabulary = model.config.vocab_size
    ids = torch.tensor([[token(row, at, vocabulary) for at in range(tokens)] for row in range(rows)])
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
    best, losses = float("inf"), []
    for _ in range(steps):
        start = time.perf_counter()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        best = min(best, time.perf_counter() - start)
        losses.append(loss.item())
    return {"step_s": best, "losses": losses, "peak_mb": peak_mb()}


def run(command, threads):
    env = dict(os.environ, RAYON_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--speed", default="target/release/examples/speed")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        what, *numbers = json.loads(args.peer)
        measure = {"decode": peer_decode, "train": peer_train}[what]
        print(json.dumps(measure(args.folder, args.threads, *numbers)))
        return

    def peer(*what):
        command = [sys.executable, __file__, args.folder, "--threads", str(args.threads)]
        return run(command + ["--peer", json.dumps(what)], args.threads)

    table = {}
    for batch, prompt, new in DECODE:
        flags = ["--batch", batch, "--prompt", prompt, "--new", new]
        ours = run([args.speed, "decode", args.folder, *map(str, flags)], args.threads)
        theirs = peer("decode", batch, prompt, new)
        same = sum(a == b for a, b in zip(ours.pop("tokens"), theirs.pop("tokens")))
        ratio = ours["tokens_per_s"] / theirs["tokens_per_s"]
        table[f"decode {batch} x ({prompt} + {new})"] = {
            "ours": ours, "transformers": theirs, "times as fast": ratio, "equal tokens": same,
            "memory": ours["peak_mb"] / theirs["peak_mb"],
        }
        print(f"decode {batch}: {ours['tokens_per_s']:.1f} and {theirs['tokens_per_s']:.1f} tokens/s, "
              f"{ratio:.2f} times; {same} of {new} greedy tokens equal", file=sys.stderr)
    for rows, tokens in TRAIN:
        flags = ["--rows", str(rows), "--tokens", str(tokens)]
        ours = run([args.speed, "train", args.folder, *flags], args.threads)
        theirs = peer("train", rows, tokens)
        ratio = theirs["step_s"] / ours["step_s"]
        memory = ours["peak_mb"] / theirs["peak_mb"]
        table[f"train {rows} x {tokens}"] = {
            "ours": ours, "transformers": theirs, "times as fast": ratio, "memory": memory,
        }
        print(f"train {rows} x {tokens}: {ours['step_s']:.2f} and {theirs['step_s']:.2f} s a step, {ratio:.2f} "
              f"times; {memory:.2f} of its memory; losses {ours['losses']} {theirs['losses']}", file=sys.stderr)
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
