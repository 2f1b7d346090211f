"""A reward function in TRL's shape, served to `swerl_rollout::ExternalReward` over lines of JSON.

Write `reward` as you would for TRL: lists in, one number a completion out, None where a completion could
not be judged. Everything else is the bridge. Run it as `python3 reward.py`; it needs no packages.
"""

import json
import math
import sys


def reward(prompts, completions, completion_ids, **columns):
    """1.0 for an answer that names every file of the merged change, less for a part of them."""
    scores = []
    for completion, oracle in zip(completions, columns["oracle"]):
        named = sum(f"### {path}\n" in completion for path in oracle)
        scores.append(named / len(oracle) if oracle else None)
    return scores


def answer(request, function=reward):
    """The answer to one request: the function's rewards, one for each of the prompt's completions."""
    completions = request["completions"]
    count = len(completions)
    # TRL gives each completion its prompt and its row of every extra column.
    columns = {name: [value] * count for name, value in request["columns"].items()}
    rewards = function(
        prompts=[request["prompt"]] * count,
        completions=completions,
        completion_ids=request["completion_ids"],
        **columns,
    )
    if len(rewards) != count:
        raise ValueError(f"the reward function gave {len(rewards)} rewards for {count} completions")
    finite = [None if r is None or not math.isfinite(r) else float(r) for r in rewards]
    return {"id": request["id"], "rewards": finite}


def main():
    # The answers have standard output to themselves; what the function prints goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        if request["version"] != 1:
            sys.exit(f"version {request['version']} of requests, this script reads 1")
        print(json.dumps(answer(request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
