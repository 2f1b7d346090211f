"""Scores, and the functions that make them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence

from . import _native

Files = Dict[str, str]


@dataclass(frozen=True)
class NearMiss:
    """For a search text that is not in the file: the lines most like it."""

    line: int
    """First line of the place, from 1, in the file as earlier edits left it."""
    similarity: float
    """Similarity of the search text and the lines there, in ``[0, 1]``."""
    text: str
    """The lines there, joined by LF."""
    diff: str
    """Line by line: ``-`` searched, ``+`` found; white space that differs is drawn."""

    def __str__(self) -> str:
        return f"  nearest: line {self.line}, similarity {self.similarity:.4f}\n{self.diff}"


@dataclass(frozen=True)
class Score:
    """A reward with its reasons. ``str(score)`` tells them over several lines."""

    reward: float
    """-1.0, or a similarity in ``[0, 1]``. Never NaN."""
    outcome: str
    """``"scored"``, or the rule that failed: ``"tags"``, ``"empty_thought"``, ``"no_edits"``,
    ``"search_equals_replace"``, ``"search_not_found"``, ``"limit_passed"``."""
    reason: str
    """The outcome as a sentence, with the tag, file, edit or limit that it is about."""
    similarities: Dict[str, float]
    """Similarity of every path that either side changes; empty unless scored."""
    thought: Optional[str] = None
    """The trimmed thought, where the output has one."""
    edits: int = 0
    """The count of edits that match the grammar."""
    near_miss: Optional[NearMiss] = None
    """For ``"search_not_found"``: the lines of the file most like the search text."""

    @property
    def is_valid(self) -> bool:
        """Whether the format is kept and the edits apply: the reward is not the penalty."""
        return self.outcome == "scored"

    @property
    def is_exact(self) -> bool:
        """Whether the predicted patches equal the oracle's, all of them."""
        return self.is_valid and all(value == 1.0 for value in self.similarities.values())

    def to_dict(self) -> Dict[str, Any]:
        """All fields as plain values that ``json.dumps`` takes."""
        return asdict(self)

    def __repr__(self) -> str:
        if self.is_valid:
            return f"Score(reward={self.reward!r}, similarities={self.similarities!r})"
        return f"Score(reward={self.reward!r}, outcome={self.outcome!r}, reason={self.reason!r})"

    def __str__(self) -> str:
        lines = [f"reward {self.reward:.4f}: {self.reason}"]
        lines += [f"  {value:.4f}  {path!r}" for path, value in self.similarities.items()]
        if self.near_miss is not None:
            lines.append(str(self.near_miss))
        return "\n".join(lines)


def score(context: Files, oracle: Files, output: str) -> Score:
    """The SWE-RL reward of one output.

    ``context`` is path to text of the files shown to the model, ``oracle`` path to full new text of the
    merged change, ``output`` what the model wrote. The interpreter is released meanwhile.
    """
    return _made(_native.score(context, oracle, output))


def score_batch(
    contexts: Sequence[Files], oracles: Sequence[Files], outputs: Sequence[str]
) -> List[Score]:
    """:func:`score` of each output with the context and oracle at the same place, on all cores.

    For one prompt repeat its dicts: ``[context] * len(outputs)``; a dict given again is not read
    again. The arguments are lists or tuples. The interpreter is released meanwhile; the
    environment variable ``RAYON_NUM_THREADS`` at the first call sets the number of threads.
    """
    return [_made(parts) for parts in _native.score_batch(contexts, oracles, outputs)]


def score_contents(context: Files, predicted: Files, oracle: Files) -> Score:
    """The score of predicted file contents, path to full new text, however they were made.

    A path outside the context is a new file, ``""`` a deleted one, a text equal to the context
    no change. The reward is in ``[0, 1]``.
    """
    return _made(_native.score_contents(context, predicted, oracle))


def score_unidiff(predicted: List[str], oracle: List[str]) -> Score:
    """The score of unified diffs as ``git diff`` or ``diff -u`` write them, in ``[0, 1]``.

    A text that does not parse counts as no patch.
    """
    return _made(_native.score_unidiff(predicted, oracle))


def _made(parts: _native._Score) -> Score:
    reward, outcome, reason, similarities, thought, edits, near = parts
    near_miss = None if near is None else NearMiss(*near)
    return Score(reward, outcome, reason, similarities, thought, edits, near_miss)
