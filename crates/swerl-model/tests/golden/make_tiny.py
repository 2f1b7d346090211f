#!/usr/bin/env python3
"""Tiny random Hugging Face folders and what transformers makes of them.

usage: make_tiny.py OUT_DIR        (pip install torch transformers)

Writes OUT_DIR/{llama31,qwen2}/: config.json, model.safetensors (bf16) and expected.json. Weights are drawn from a
seed and rounded to bf16; everything is computed in f32 with eager attention. llama31 has the llama3 rope scaling
with an original context of 32 tokens, so that rows of 150 reach its three bands; qwen2 is tied, with biases.

expected.json: rows of token ids; per row the log-prob and entropy (nats) of each token but the first; the ten
highest logits after row 0; 32 greedy tokens after row 1; the norm of each parameter's gradient of the mean negative
log-prob of all rows, in the order of the network.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

SHAPE = dict(
    vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=512, bos_token_id=None, attn_implementation="eager",
)
ROPE = dict(
    rope_type="llama3", rope_theta=10_000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
MODELS = {
    "llama31": (LlamaForCausalLM, LlamaConfig(
        **SHAPE, head_dim=12, rms_norm_eps=1e-5, rope_parameters=ROPE, tie_word_embeddings=False, eos_token_id=[1, 5])),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(
        **SHAPE, rms_norm_eps=1e-6, rope_parameters=dict(rope_type="default", rope_theta=1_000_000.0),
        tie_word_embeddings=True, eos_token_id=1)),
}


def draw(model):
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        scale, shift = (0.2, 1.0) if "norm" in name else (0.3, 0.0)
        values = torch.randn(parameter.shape, generator=generator) * scale + shift
        parameter.data = values.bfloat16().float()


def ordered_norms(model):
    gradients = {name: p.grad.double().norm().item() for name, p in model.named_parameters()}
    names = ["model.embed_tokens.weight"]
    for i in range(model.config.num_hidden_layers):
        parts = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                 "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
        names += [f"model.layers.{i}.{part}.{kind}" for part in parts for kind in ("weight", "bias")]
    names += ["model.norm.weight", "lm_head.weight"]
    return [(name, gradients[name]) for name in names if name in gradients]


def record(model):
    rows = [[(i * 17 + salt * 29 + i * i * 3) % 97 for i in range(length)] for length, salt in ((150, 1), (40, 2), (7, 3))]
    logits = [model(torch.tensor([row])).logits[0] for row in rows]
    scores = [torch.log_softmax(all_logits[:-1], -1) for all_logits in logits]
    chosen = [s.gather(1, torch.tensor(row[1:])[:, None])[:, 0] for s, row in zip(scores, rows)]
    (-torch.cat(chosen).mean()).backward()
    top = torch.topk(logits[0][-1], 10)
    greedy = list(rows[1])
    with torch.no_grad():
        for _ in range(32):
            greedy.append(int(model(torch.tensor([greedy])).logits[0, -1].argmax()))
    return {
        "transformers": transformers.__version__,
        "rows": rows,
        "log_probs": [c.tolist() for c in chosen],
        "entropies": [(-(s.exp() * s).sum(-1)).tolist() for s in scores],
        "top": [[int(i), float(v)] for v, i in zip(top.values, top.indices)],
        "greedy": greedy[len(rows[1]):],
        "gradient_norms": ordered_norms(model),
    }


def main(out):
    for name, (kind, config) in MODELS.items():
        model = kind(config)
        draw(model)
        folder = Path(out) / name
        expected = record(model)
        model.bfloat16().save_pretrained(folder)
        for extra in ("generation_config.json",):
            (folder / extra).unlink(missing_ok=True)
        (folder / "expected.json").write_text(json.dumps(expected, indent=None) + "\n", encoding="utf-8")
        print(name, sum(p.numel() for p in model.parameters()), "parameters")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
