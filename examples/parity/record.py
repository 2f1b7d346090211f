#!/usr/bin/env python3
"""Records what transformers makes of a Hugging Face folder, for `parity --recorded`.

usage: record.py MODEL_DIR OUT.json          (pip install torch transformers)
then:  cargo run --release --example parity -- MODEL_DIR --recorded OUT.json

f32, eager attention, ids without special tokens. Per case: ids of prompt and continuation, the ten highest logits
after the prompt, log-prob and entropy of each token of the continuation, in nats.
"""

import json
import sys

import torch
import transformers

CASES = {
    "python": ("### count.py\ndef total(values):\n    result = 0\n", "    for value in values:\n        result += value\n    return result\n"),
    "rust": ("### src/limit.rs\npub fn limit(size: usize) -> usize {\n", "    size.min(100)\n}\n"),
    "edit": ("<issue>\n`total` should add, not subtract.\n</issue>\n", "<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n"),
    "not ascii": ("naïve façade – “quoted” 日本 😀\n", "été = 1\n"),
}


def record(model, tokenizer, name, prompt, continuation):
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    more = tokenizer(continuation, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids + more])).logits[0].double()
    last = logits[len(ids) - 1]
    top = torch.topk(last, 10)
    rows = torch.log_softmax(logits[len(ids) - 1 : -1], dim=-1)
    return {
        "name": name,
        "prompt": prompt,
        "prompt_ids": ids,
        "continuation_ids": more,
        "last_prompt_top10": [{"id": int(i), "logit": float(v)} for v, i in zip(top.values, top.indices)],
        "continuation_logprobs": [float(rows[k, token]) for k, token in enumerate(more)],
        "continuation_entropies": [float(-(row.exp() * row).sum()) for row in rows],
    }


def main(folder, out):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    cases = [record(model, tokenizer, name, *texts) for name, texts in CASES.items()]
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({**versions, "cases": cases}, file, indent=1)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(cases)} cases: {out}", versions)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
