"""The compiled part. Use the names of :mod:`swerl_reward`."""

from typing import Dict, List, Optional, Sequence, Tuple, Union

__all__ = [
    "__version__",
    "ratio",
    "score",
    "score_batch",
    "score_contents",
    "score_unidiff",
    "unified_patch",
]

__version__: str

# line, similarity, text, diff
_NearMiss = Tuple[int, float, str, str]
# reward, outcome, reason, similarities, thought, edits, near miss
_Score = Tuple[
    float, str, str, Dict[str, float], Optional[str], int, Optional[_NearMiss]
]
_Texts = Union[List[str], Tuple[str, ...]]

def score(context: Dict[str, str], oracle: Dict[str, str], output: str, /) -> _Score: ...
def score_batch(
    contexts: Sequence[Dict[str, str]],
    oracles: Sequence[Dict[str, str]],
    outputs: Sequence[str],
    /,
) -> List[_Score]: ...
def score_contents(
    context: Dict[str, str], predicted: Dict[str, str], oracle: Dict[str, str], /
) -> _Score: ...
def score_unidiff(predicted: _Texts, oracle: _Texts, /) -> _Score: ...
def ratio(a: str, b: str, /) -> float:
    """``difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()``, in ``[0, 1]``."""

def unified_patch(old: str, new: str, /) -> str:
    """The patch from ``old`` to ``new`` that the reward compares."""
