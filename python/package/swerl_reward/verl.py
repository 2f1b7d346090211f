"""Reward functions for verl. verl itself is not imported.

``ground_truth`` of a row is ``{"context": {path: text}, "oracle": {path: text}}``, as a dict or, better, as
JSON text (see the README). In verl's configuration::

    custom_reward_function.path=pkg://swerl_reward.verl
    custom_reward_function.name=compute_score
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Tuple

from . import _samples
from ._score import Score, score, score_batch

__all__ = ["compute_score", "compute_score_batch", "compute_score_detailed"]


def compute_score(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    prefix: Optional[str] = "",
    **_others: Any,
) -> float:
    """The reward of one answer; for the managers naive, dapo and prime.

    ``prefix`` (``reward_kwargs.prefix``) is put before the answer: the text that the chat template
    begins it with, which verl counts to the prompt.
    """
    return _scored(solution_str, ground_truth, prefix).reward


def compute_score_detailed(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    prefix: Optional[str] = "",
    **_others: Any,
) -> Dict[str, Any]:
    """:func:`compute_score` as a dict, for managers that take one (naive, dapo).

    ``score`` is the reward; ``valid`` and ``exact`` are 0.0 or 1.0, so that verl's means are rates;
    ``outcome`` is the rule that failed, or ``"scored"``.
    """
    scored = _scored(solution_str, ground_truth, prefix)
    return {
        "score": scored.reward,
        "valid": float(scored.is_valid),
        "exact": float(scored.is_exact),
        "outcome": scored.outcome,
    }


def compute_score_batch(
    data_sources: Any,
    solution_strs: Any,
    ground_truths: Any,
    extra_infos: Any = None,
    *,
    prefix: Optional[str] = "",
    **_others: Any,
) -> List[float]:
    """The rewards of many answers, on all cores; for the manager batch."""
    pairs = [
        _pair(truth, f"ground_truths[{index}]") for index, truth in enumerate(ground_truths)
    ]
    contexts = [context for context, _ in pairs]
    oracles = [oracle for _, oracle in pairs]
    before = _samples.prefixed(prefix)
    outputs = [
        before + _samples.text(solution, f"solution_strs[{index}]")
        for index, solution in enumerate(solution_strs)
    ]
    return [scored.reward for scored in score_batch(contexts, oracles, outputs)]


def _scored(solution_str: Any, ground_truth: Any, prefix: Optional[str]) -> Score:
    context, oracle = _pair(ground_truth, "ground_truth")
    return score(context, oracle, _samples.prefixed(prefix) + _samples.text(solution_str, "solution_str"))


def _pair(truth: Any, what: str) -> Tuple[Dict[str, str], Dict[str, str]]:
    truth = _samples.parsed(truth, what)
    if not isinstance(truth, Mapping):
        raise TypeError(
            f'{what} must be {{"context": {{path: text}}, "oracle": {{path: text}}}}, as a dict or '
            f"as JSON text, not {type(truth).__name__}"
        )
    for key in ("context", "oracle"):
        if truth.get(key) is None:
            raise ValueError(
                f"{what} has no {key!r} (its keys: {', '.join(map(str, truth)) or 'none'}): it needs "
                '"context" with the files shown and "oracle" with the merged ones, path to text each'
            )
    return (
        _samples.files(truth["context"], f"{what}['context']"),
        _samples.files(truth["oracle"], f"{what}['oracle']"),
    )
