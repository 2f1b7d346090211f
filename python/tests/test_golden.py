"""The recorded cases of the crate: 66 rewards, 44 ratios and 41 patches of difflib."""

import json
from pathlib import Path

import pytest

import swerl_reward

GOLDEN = Path(__file__).parents[2] / "crates" / "swerl-reward" / "tests" / "golden"
REWARDS = json.loads((GOLDEN / "reward.json").read_text(encoding="utf-8"))
DIFFLIB = json.loads((GOLDEN / "difflib.json").read_text(encoding="utf-8"))
OUTCOMES = {
    None: "scored",
    "Thought is empty": "empty_thought",
    "No valid search blocks found": "no_edits",
    "Search and replace blocks are identical": "search_equals_replace",
}


def scored(case):
    context, oracle = case["code_context"], case["oracle_new_content"]
    if case["kind"] == "search_replace":
        return swerl_reward.score(context, oracle, case["model_output"])
    if case["kind"] == "general":
        return swerl_reward.score_contents(context, case["pred_new_content"], oracle)
    assert case["kind"] == "unidiff"
    return swerl_reward.score_unidiff(case["pred_patches"], case["oracle_patches"])


def outcome(error):
    if error in OUTCOMES:
        return OUTCOMES[error]
    return "search_not_found" if error.startswith("Search block not found") else "tags"


def test_all_cases_are_there():
    assert len(REWARDS) == 66
    assert (len(DIFFLIB["ratio"]), len(DIFFLIB["unified"])) == (44, 41)


@pytest.mark.parametrize("case", REWARDS, ids=lambda case: case["name"])
def test_reward(case):
    score = scored(case)
    assert abs(score.reward - case["expected_reward"]) < 1e-12
    assert score.outcome == outcome(case["expected_error"])
    assert score.is_valid == (case["expected_error"] is None)
    if case.get("similarities") is not None:
        assert score.similarities == case["similarities"]
    if case.get("thought") is not None:
        assert score.thought == case["thought"]


def test_a_batch_gives_what_single_calls_give():
    cases = [case for case in REWARDS if case["kind"] == "search_replace"] * 3
    batch = swerl_reward.score_batch(
        [case["code_context"] for case in cases],
        [case["oracle_new_content"] for case in cases],
        [case["model_output"] for case in cases],
    )
    assert batch == [scored(case) for case in cases]


def test_ratios():
    for case in DIFFLIB["ratio"]:
        assert swerl_reward.ratio(case["a"], case["b"]) == case["ratio"], case["name"]


def test_patches():
    for case in DIFFLIB["unified"]:
        assert swerl_reward.unified_patch(case["old"], case["new"]) == case["patch"], case["name"]
