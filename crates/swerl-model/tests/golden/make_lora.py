#!/usr/bin/env python3
"""A PEFT folder for the tiny Llama, what PEFT makes of it, and the check of folders that swerl wrote.

usage: make_lora.py GOLDEN_DIR                   writes GOLDEN_DIR/lora/ (pip install torch transformers peft)
       make_lora.py GOLDEN_DIR --check ADAPTER   prints the log-probs of row 1 under an adapter of swerl's

Rank 4, alpha 10, on queries, values and the MLP's gate; A and B drawn from a seed. expected.json: the log-probs
(nats) of each row of llama31/expected.json, each token but the first.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model


def log_probs(model, rows):
    out = []
    with torch.no_grad():
        for row in rows:
            scores = torch.log_softmax(model(torch.tensor([row])).logits[0, :-1], -1)
            out.append(scores.gather(1, torch.tensor(row[1:])[:, None])[:, 0].tolist())
    return out


def main(golden, check=None):
    base = transformers.AutoModelForCausalLM.from_pretrained(
        golden / "llama31", dtype=torch.float32, attn_implementation="eager"
    )
    rows = json.loads((golden / "llama31" / "expected.json").read_text())["rows"]
    if check:
        print(json.dumps(log_probs(PeftModel.from_pretrained(base, check), rows)[1]))
        return
    config = LoraConfig(r=4, lora_alpha=10, target_modules=["q_proj", "v_proj", "gate_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(base, config)
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.2
    folder = golden / "lora"
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    stored = json.loads(path.read_text()) | {"base_model_name_or_path": "llama31"}
    path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    (folder / "expected.json").write_text(json.dumps(log_probs(model, rows)) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else None)
