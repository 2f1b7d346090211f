"""The adapters, called as TRL's GRPOTrainer and verl's reward managers call them."""

import json

import pytest

from swerl_reward import trl, verl

CONTEXT, ORACLE = {"a.py": "x = 1\ny = x\n"}, {"a.py": "x = 2\ny = x\n"}
EDIT = "```\n### a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```"
PERFECT = f"<think>off by one</think>\n<solution>\n{EDIT}\n</solution>"


def message(content, role="assistant", **more):
    return {"role": role, "content": content, **more}


def as_trl(func, completions, logged=None, **columns):
    """TRL's call: everything by keyword, with columns that no reward asked for."""
    return func(
        prompts=["p"] * len(completions),
        completions=completions,
        completion_ids=[[1, 2]] * len(completions),
        **columns,
        trainer_state=object(),
        log_extra=(logged if logged is not None else {}).__setitem__,
        log_metric=lambda name, value: None,
    )


def test_trl_rewards_and_outcomes():
    logged = {}
    completions = [PERFECT, "no tags", [message(PERFECT)], [message("no tags")], "another task", PERFECT]
    rewards = as_trl(
        trl.reward_func,
        completions,
        logged,
        context=[CONTEXT, CONTEXT, json.dumps(CONTEXT), CONTEXT, None, CONTEXT],
        oracle=[ORACLE, ORACLE, json.dumps(ORACLE), ORACLE, ORACLE, None],
    )
    assert rewards == [1.0, -1.0, 1.0, -1.0, None, None]
    assert logged == {"swerl_outcome": ["scored", "tags", "scored", "tags", None, None]}


@pytest.mark.parametrize(
    "completion, reward",
    [
        ([], -1.0),
        ([message(None, tool_calls=[{}])], -1.0),
        ([message("call", tool_calls=[{}]), message("result", "tool"), message(PERFECT)], 1.0),
        ([message(PERFECT), message("<think>", "tool")], 1.0),
        ([{"content": PERFECT}], 1.0),
        ([message([{"type": "text", "text": PERFECT[:9]}, {"type": "text", "text": PERFECT[9:]}])], 1.0),
        ([message(PERFECT.split("</think>")[1], reasoning_content="off by one")], 1.0),
        ([message(PERFECT.split("</think>")[1], thinking="off by one")], 1.0),
        ([message(PERFECT, reasoning_content="twice")], -1.0),
        ("\ud800" + PERFECT, 1.0),
    ],
)
def test_trl_completions(completion, reward):
    assert as_trl(trl.reward_func, [completion], context=[CONTEXT], oracle=[ORACLE]) == [reward]


def test_trl_columns_of_an_arrow_table_hold_filler():
    rewards = as_trl(
        trl.reward_func, [PERFECT], context=[{**CONTEXT, "b.py": None}], oracle=[{**ORACLE, "c.py": None}]
    )
    assert rewards == [1.0]


def test_trl_other_columns_and_a_prefix():
    func = trl.make_reward_func(context="files", oracle="merged", prefix="<think>")
    completion = PERFECT[len("<think>") :]
    assert as_trl(func, [completion], files=[CONTEXT], merged=[ORACLE], context=[1]) == [1.0]
    assert func.__name__ == "swerl_reward" and trl.reward_func.__name__ == "reward_func"


@pytest.mark.parametrize(
    "completions, columns, error, says",
    [
        (["x"], {"context": [CONTEXT]}, ValueError, "column 'oracle' is missing .*completion_ids"),
        (["x"], {"context": [], "oracle": [ORACLE]}, ValueError, "'context' has 0 entries for 1"),
        (["x"], {"context": [3], "oracle": [ORACLE]}, TypeError, r"context\[0\] must hold files, not int"),
        (["x"], {"context": ["{"], "oracle": [ORACLE]}, ValueError, r"context\[0\] is no JSON text"),
        (["x"], {"context": ["[]"], "oracle": [ORACLE]}, TypeError, r"context\[0\] must hold files, not list"),
        # The row's own number and column, also behind rows of other tasks.
        (["x", "x"], {"context": [None, {"a.py": 1}], "oracle": [ORACLE] * 2}, TypeError, r"context\[1\] .*'a.py' .* with int"),
        (["x", "x"], {"context": [None, CONTEXT], "oracle": [None, '{"a.py": NaN}']}, TypeError, r"oracle\[1\] .* with float"),
        (["x"], {"context": [{3: "x"}], "oracle": [ORACLE]}, TypeError, r"context\[0\] .* 3 of type int"),
        ([7], {"context": [CONTEXT], "oracle": [ORACLE]}, TypeError, r"completions\[0\] must be a str or a list"),
        ([["x"]], {"context": [CONTEXT], "oracle": [ORACLE]}, TypeError, "a chat message must be a dict"),
        ([[message(3)]], {"context": [CONTEXT], "oracle": [ORACLE]}, TypeError, "content of a chat message"),
    ],
)
def test_trl_wrong_arguments(completions, columns, error, says):
    with pytest.raises(error, match=says):
        as_trl(trl.reward_func, completions, **columns)


TRUTHS = [
    {"context": CONTEXT, "oracle": ORACLE},
    {"context": json.dumps(CONTEXT), "oracle": json.dumps(ORACLE)},
    {"context": {**CONTEXT, "b.py": None}, "oracle": {**ORACLE, "c.py": None}},
    json.dumps({"context": CONTEXT, "oracle": ORACLE}),
]


@pytest.mark.parametrize("truth", TRUTHS)
def test_verl_calls(truth):
    # The managers naive and dapo.
    reward = verl.compute_score(
        data_source="swe", solution_str=PERFECT, ground_truth=truth, extra_info={"num_turns": None}
    )
    assert type(reward) is float and reward == 1.0
    # The reward loop with a reward model, and reward_kwargs.
    more = {"reward_router_address": "x", "reward_model_tokenizer": None, "prefix": "<think>"}
    assert verl.compute_score("swe", PERFECT[7:], truth, extra_info=None, **more) == 1.0
    # The manager prime calls by position.
    assert verl.compute_score("swe", "no tags", truth, {}) == -1.0
    detailed = verl.compute_score_detailed(
        data_source="swe", solution_str=PERFECT, ground_truth=truth, extra_info={}
    )
    assert detailed == {"score": 1.0, "valid": 1.0, "exact": 1.0, "outcome": "scored"}


def test_trl_columns_are_read_by_position():
    class Series:
        """As pandas' behind a filter: ``[0]`` is an index, not a place."""

        def __init__(self, values):
            self.values = values

        def __len__(self):
            return len(self.values)

        def __iter__(self):
            return iter(self.values)

        def __getitem__(self, index):
            raise KeyError(index)

    assert trl.reward_func(["p"], [PERFECT], context=Series([CONTEXT]), oracle=Series([ORACLE])) == [1.0]


def test_a_prefix_of_a_configuration():
    assert trl.make_reward_func(prefix=None)(["p"], [PERFECT], context=[CONTEXT], oracle=[ORACLE]) == [1.0]
    assert verl.compute_score("swe", PERFECT, TRUTHS[0], prefix=None) == 1.0
    assert verl.compute_score_batch(["swe"], [PERFECT], TRUTHS[:1], prefix=None) == [1.0]
    for wrong in (lambda: trl.make_reward_func(prefix=1), lambda: verl.compute_score("swe", PERFECT, TRUTHS[0], prefix=1)):
        with pytest.raises(TypeError, match="prefix must be a str, not int"):
            wrong()


def test_trl_column_of_no_length():
    with pytest.raises(TypeError, match="the column 'context' must be a list .* not int"):
        trl.reward_func(["p"], ["x"], context=5, oracle=[ORACLE])


def test_verl_batch():
    rewards = verl.compute_score_batch(
        data_sources=["swe"] * len(TRUTHS),
        solution_strs=[PERFECT, "no tags", PERFECT, PERFECT],
        ground_truths=TRUTHS,
        extra_infos=[{"rollout_reward_scores": {}}] * len(TRUTHS),
    )
    assert rewards == [1.0, -1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "truth, error, says",
    [
        (None, TypeError, "ground_truth must be .* not NoneType"),
        ("the answer", ValueError, "ground_truth is no JSON text"),
        ("[" * 200_000, ValueError, "ground_truth is no JSON text"),
        ({"oracle": ORACLE}, ValueError, r"ground_truth has no 'context' \(its keys: oracle\)"),
        ({"context": CONTEXT, "oracle": 1}, TypeError, r"ground_truth\['oracle'\] must hold files"),
    ],
)
def test_verl_wrong_arguments(truth, error, says):
    with pytest.raises(error, match=says):
        verl.compute_score("swe", PERFECT, truth)
