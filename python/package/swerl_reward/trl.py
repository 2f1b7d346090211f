"""A reward function for TRL's ``GRPOTrainer``. TRL itself is not imported.

The data set has the columns ``prompt``, ``context`` and ``oracle``; the last two hold path to text, as a
dict or, better, as JSON text (see the README). ``GRPOTrainer(reward_funcs=reward_func, ...)`` does the rest.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from . import _samples
from ._score import score_batch

__all__ = ["make_reward_func", "reward_func"]

Rewards = List[Optional[float]]


def reward_func(prompts: Any = None, completions: Any = None, **columns: Any) -> Rewards:
    """The reward of each completion; None where the row's context or oracle is None.

    ``completions`` are strings or lists of chat messages. None tells TRL that this reward does not
    apply to the row, so data sets may mix tasks. Where TRL offers ``log_extra``, the outcomes go to
    its table of completions.
    """
    return _rewards(completions, columns, "context", "oracle", "")


def make_reward_func(
    *, context: str = "context", oracle: str = "oracle", prefix: Optional[str] = ""
) -> Callable[..., Rewards]:
    """:func:`reward_func` with other names of the columns, or with a ``prefix``.

    ``prefix`` is put before each completion: the text that the chat template begins the answer with
    (``"<think>\\n"`` for many reasoning models), which TRL counts to the prompt.
    """
    before = _samples.prefixed(prefix)

    def swerl_reward(prompts: Any = None, completions: Any = None, **columns: Any) -> Rewards:
        return _rewards(completions, columns, context, oracle, before)

    return swerl_reward


def _rewards(
    completions: Any, columns: Dict[str, Any], context: str, oracle: str, prefix: str
) -> Rewards:
    if not isinstance(completions, (list, tuple)):
        raise TypeError(
            f"completions must be a list, not {type(completions).__name__}: "
            "call reward_func(prompts=..., completions=..., context=..., oracle=...) as TRL does"
        )
    chosen = []
    for name in (context, oracle):
        if name not in columns:
            raise ValueError(
                f"the column {name!r} is missing (there are: {', '.join(sorted(columns)) or 'none'}): "
                "add it to the data set, or name another with make_reward_func(context=..., oracle=...)"
            )
        if not hasattr(columns[name], "__len__"):
            raise TypeError(
                f"the column {name!r} must be a list with an entry for each completion, "
                f"not {type(columns[name]).__name__}"
            )
        if len(columns[name]) != len(completions):
            raise ValueError(
                f"the column {name!r} has {len(columns[name])} entries for {len(completions)} "
                "completions: give one an answer"
            )
        # By position: a column of pandas answers `[0]` by its index.
        chosen.append(list(columns[name]))

    places, contexts, oracles, outputs = [], [], [], []
    for index, completion in enumerate(completions):
        row_context, row_oracle = chosen[0][index], chosen[1][index]
        if row_context is None or row_oracle is None:
            continue
        places.append(index)
        contexts.append(_samples.files(row_context, f"{context}[{index}]"))
        oracles.append(_samples.files(row_oracle, f"{oracle}[{index}]"))
        outputs.append(prefix + _samples.text(completion, f"completions[{index}]"))

    rewards: Rewards = [None] * len(completions)
    outcomes: List[Optional[str]] = [None] * len(completions)
    for index, score in zip(places, score_batch(contexts, oracles, outputs)):
        rewards[index] = score.reward
        outcomes[index] = score.outcome
    log_extra = columns.get("log_extra")
    if callable(log_extra):
        log_extra("swerl_outcome", outcomes)
    return rewards
