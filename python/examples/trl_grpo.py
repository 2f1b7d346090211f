"""Two steps of TRL's GRPO with the SWE-RL reward, on four made-up bugs.

    pip install swerl-reward trl torch
    python trl_grpo.py --model HuggingFaceTB/SmolLM2-135M-Instruct

The prompts show two solved bugs and begin the answer with ``<think>``, so that even a small base model
keeps the format now and then. The data set holds files as JSON text; the reward is told the answer's
beginning, which TRL counts to the prompt. Runs on a CPU in minutes.
"""

import argparse
import json

from datasets import Dataset
from swerl_reward.trl import make_reward_func
from trl import GRPOConfig, GRPOTrainer

BUGS = [  # path, file, wrong expression, right expression, what an issue says
    ("add.py", "def add(a, b):\n    return a - b\n", "a - b", "a + b", "add(1, 2) gives -1, it should add"),
    ("area.py", "def area(w, h):\n    return w + h\n", "w + h", "w * h", "area(2, 3) gives 5, it should multiply"),
    ("last.py", "def last(xs):\n    return xs[0]\n", "xs[0]", "xs[-1]", "last([1, 2]) gives 1, it should take the end"),
    ("even.py", "def even(n):\n    return n % 2 == 1\n", "n % 2 == 1", "n % 2 == 0", "even(3) is True, odd and even are swapped"),
    ("half.py", "def half(n):\n    return n * 2\n", "n * 2", "n / 2", "half(4) gives 8, it should divide"),
    ("low.py", "def low(a, b):\n    return max(a, b)\n", "max(a, b)", "min(a, b)", "low(1, 2) gives 2, it should be the smaller"),
]
BEGINNING = "<think>\n"


def question(path, text, issue):
    return f"Issue: {issue}\n### {path}\n{text}Answer:\n{BEGINNING}"


def answer(path, wrong, right, issue):
    edit = f"### {path}\n<<<<<<< SEARCH\n    return {wrong}\n=======\n    return {right}\n>>>>>>> REPLACE"
    return f"{issue}.\n</think>\n<solution>\n```python\n{edit}\n```\n</solution>\n\n"


def data_set():
    solved = "".join(
        question(path, text, issue) + answer(path, wrong, right, issue)
        for path, text, wrong, right, issue in BUGS[:2]
    )
    return Dataset.from_list(
        [
            {
                "prompt": solved + question(path, text, issue),
                "context": json.dumps({path: text}),
                "oracle": json.dumps({path: text.replace(wrong, right)}),
            }
            for path, text, wrong, right, issue in BUGS[2:]
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, help="a causal language model: folder or name")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--out", default="trl-grpo", help="folder for the trainer's files")
    args = parser.parse_args()

    trainer = GRPOTrainer(
        model=args.model,
        reward_funcs=make_reward_func(prefix=BEGINNING),
        train_dataset=data_set(),
        args=GRPOConfig(
            output_dir=args.out,
            max_steps=args.steps,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=112,
            temperature=0.7,
            learning_rate=1e-6,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            seed=0,
        ),
    )
    trainer.train()
    for entry in trainer.state.log_history:
        if "reward" in entry:
            print(f"step {entry['step']}: reward {entry['reward']:.4f}, std {entry['reward_std']:.4f}")


if __name__ == "__main__":
    main()
