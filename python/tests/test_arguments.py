"""Wrong arguments raise and say what to do; what a model wrote never does."""

import json
import pickle
import random

import pytest

from swerl_reward import (
    Score,
    ratio,
    score,
    score_batch,
    score_contents,
    score_unidiff,
    unified_patch,
)

FILES = {"a.py": "x = 1\n"}


def edit(search, replace, path="a.py"):
    return f"```\n### {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```"


def answer(search, replace, path="a.py", thought="why"):
    return f"<think>{thought}</think>\n<solution>\n{edit(search, replace, path)}\n</solution>"


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: score([("a", "b")], {}, ""), TypeError, "context must be a dict of path to text, not list"),
        (lambda: score({}, None, ""), TypeError, "oracle must be a dict"),
        (lambda: score({1: ""}, {}, ""), TypeError, "every key must be a path of type str"),
        (lambda: score({"a": b"x"}, {}, ""), TypeError, r"context\[\"a\"\] must be a str, not bytes; decode it"),
        (lambda: score({"a": None}, {}, ""), TypeError, "not NoneType; leave the entry out"),
        (lambda: score({}, {}, b""), TypeError, "output must be a str, not bytes; decode it"),
        (lambda: score_batch({}, [], []), TypeError, "contexts must be a list or tuple, not dict"),
        (lambda: score_batch([{}], [{}], "x"), TypeError, "outputs must be a list or tuple, not str"),
        (lambda: score_batch([{}], [{}], []), ValueError, r"equally long.* 1, 1 and 0; .*\[context\] \*"),
        (lambda: score_batch([{}, 1], [{}, {}], ["", ""]), TypeError, r"contexts\[1\] must be a dict"),
        (lambda: score_batch([{}], [{}], [None]), TypeError, r"outputs\[0\] must be a str"),
        (lambda: score_contents({}, {"a": 1}, {}), TypeError, r"predicted\[\"a\"\]"),
        (lambda: score_unidiff("text", []), TypeError, "predicted must be a list"),
        (lambda: ratio("a", 1), TypeError, "b must be a str, not int; pass the text"),
        (lambda: unified_patch(b"a", ""), TypeError, "old must be a str, not bytes; decode"),
    ],
)
def test_wrong_arguments(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_nothing_that_a_model_writes_raises():
    rng = random.Random(0)
    pieces = [
        "```", "\n", "### a.py", "### ", "<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n",
        "x = 1", "\x00", "\r\n", "\ud800", "\udc80", "\U0010ffff", edit("x = 1", "x = \udfff"), edit("", "\n"),
        edit("y", "z", "\ud800"), edit("x", "x"),
    ]  # fmt: skip
    tags = ["<think>", "</think>", "<solution>", "</solution>"]

    def text(pieces):
        return "".join(rng.choices(pieces, k=rng.randrange(12)))

    outputs = [text(pieces + tags) for _ in range(1000)]
    outputs += [f"<think>{text(' a')}</think><solution>{text(pieces)}</solution>" for _ in range(1000)]
    scores = score_batch([FILES] * 2000, [{"a.py": "x = 2\n"}] * 2000, outputs)
    assert all(result.reward == -1.0 or 0.0 <= result.reward <= 1.0 for result in scores)
    assert {result.outcome for result in scores} == {
        "scored", "tags", "empty_thought", "no_edits", "search_equals_replace", "search_not_found",
    }  # fmt: skip
    for result in scores:
        json.dumps(result.to_dict())


def test_a_lone_surrogate_counts_as_one_replacement_character():
    assert ratio("a\ud800b", "a\ufffdb") == 1.0
    assert ratio("\ud83d\ude00", "\ufffd\ufffd") == 1.0  # two halves are not one character
    context, oracle = {"\udcff.py": "x\n"}, {"\ufffd.py": "\ud800\n"}
    result = score(context, oracle, answer("x", "\udfff", path="\ufffd.py"))
    assert result.is_exact and list(result.similarities) == ["\ufffd.py"]
    assert score(FILES, FILES, answer("x = 1", "y", thought="\ud800")).thought == "\ufffd"
    # Paths that become equal are one path: the later text counts.
    assert score_contents({}, {"\ud800": "a", "\udfff": "b"}, {"\ufffd": "b"}).is_exact


def test_subclasses_of_str_and_dict():
    class Text(str):
        def encode(self, *_):
            raise AssertionError("not the subclass's to say")

    class Files(dict):
        pass

    result = score(Files(FILES), Files({Text("a.py"): Text("x = \ud800\n")}), Text(answer("x = 1", "x = \ud800")))
    assert result.is_exact


def test_a_score():
    good = score(FILES, {"a.py": "x = 2\n"}, answer("x = 1", "x = 2"))
    assert repr(good) == "Score(reward=1.0, similarities={'a.py': 1.0})"
    assert str(good) == "reward 1.0000: scored\n  1.0000  'a.py'"
    assert good.is_valid and good.is_exact and good.thought == "why" and good.edits == 1
    bad = score(FILES, FILES, "nothing")
    assert repr(bad) == (
        "Score(reward=-1.0, outcome='tags', "
        "reason='the tag <think> must occur exactly once, it occurs 0 times')"
    )
    missed = score({"a.py": "  x = 1\n"}, FILES, answer("x = 1", "x = 2"))
    assert str(missed).endswith("nearest: line 1, similarity 0.8333\n-x = 1\n+··x = 1")
    assert list(missed.to_dict()) == [
        "reward", "outcome", "reason", "similarities", "thought", "edits", "near_miss",
    ]  # fmt: skip
    for result in (good, bad, missed):
        assert pickle.loads(pickle.dumps(result)) == result
        assert isinstance(result, Score)
    with pytest.raises(AttributeError):
        good.reward = 2.0


def test_an_empty_batch():
    assert score_batch([], [], []) == []
    assert score_batch((), (), ()) == []
