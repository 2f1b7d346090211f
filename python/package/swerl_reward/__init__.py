"""The SWE-RL reward: how close is a model's patch to the one that was merged?

Exact to the last bit against ``difflib``, fast, and it says which rule failed. Nothing that a model
writes raises; wrong arguments raise ``TypeError`` or ``ValueError``. Adapters for trainers are in
:mod:`swerl_reward.trl` and :mod:`swerl_reward.verl`.

A lone surrogate in any string counts as one U+FFFD.
"""

from ._native import __version__, ratio, unified_patch
from ._score import NearMiss, Score, score, score_batch, score_contents, score_unidiff

__all__ = [
    "NearMiss",
    "Score",
    "__version__",
    "ratio",
    "score",
    "score_batch",
    "score_contents",
    "score_unidiff",
    "unified_patch",
]
