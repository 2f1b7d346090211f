"""``ratio`` and ``unified_patch`` against the difflib of the running Python, on hostile texts."""

import difflib
import random

import pytest

from swerl_reward import ratio, unified_patch

ALPHABETS = {
    "one": "a",
    "two": "ab",
    "spaces": " \t\n\r",
    "lines": "ab\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
    "code": "def f(x):\n    return x_1\n",
    "wide": "aé\u0300ß中\U0001f600\U0010ffff\x00\ufffd\ufeff",
    "surrogates": "ab\ud800\udfff\U0001f600",
}


def difflib_ratio(a, b):
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def replaced(text):
    """The rule for lone surrogates."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def pair(rng, alphabet, length):
    a = "".join(rng.choices(alphabet, k=rng.randrange(length + 1)))
    if rng.random() < 0.4:
        return a, "".join(rng.choices(alphabet, k=rng.randrange(length + 1)))
    b = list(a)
    for _ in range(rng.randrange(8)):
        at = rng.randrange(len(b) + 1)
        b[at : at + rng.randrange(6)] = rng.choices(alphabet, k=rng.randrange(6))
    return a, "".join(b)


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.parametrize("length, count", [(6, 300), (60, 100), (400, 6)])
def test_ratio_of_random_pairs(name, length, count):
    rng = random.Random(f"{name} {length}")
    for _ in range(count):
        a, b = pair(rng, ALPHABETS[name], length)
        assert ratio(a, b) == difflib_ratio(replaced(a), replaced(b)), (a, b)


@pytest.mark.parametrize(
    "a, b, expected",
    [("", "", 1.0), ("", "a", 0.0), ("tide", "diet", 0.25), ("diet", "tide", 0.5)],
)
def test_ratio_of_small_pairs(a, b, expected):
    assert ratio(a, b) == difflib_ratio(a, b) == expected


@pytest.mark.parametrize("name", ["lines", "code", "surrogates"])
def test_patch_of_random_pairs(name):
    rng = random.Random(f"patch {name}")
    for _ in range(200):
        old, new = (replaced(text) for text in pair(rng, ALPHABETS[name] + "\n", 60))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
        assert unified_patch(old, new) == "\n".join(list(lines)[2:]), (old, new)
