"""The package itself: README, stubs, versions."""

import ast
import inspect
import re
from importlib import metadata
from pathlib import Path

import swerl_reward
from swerl_reward import _native

ROOT = Path(__file__).parents[1]


def test_the_examples_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # A longer fence where an answer within has fences of its own.
    examples = re.findall(r"^(```+)python\n(.*?)^\1\n", readme, re.MULTILINE | re.DOTALL)
    assert len(examples) == 6
    for _, example in examples:
        exec(compile(example, "README.md", "exec"), {})


def test_the_stub_has_the_native_functions_and_their_parameters():
    package = Path(swerl_reward.__file__).parent
    assert (package / "py.typed").exists()
    stub = ast.parse((package / "_native.pyi").read_text(encoding="utf-8"))
    stubbed = {
        node.name: [argument.arg for argument in node.args.posonlyargs]
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    native = {
        name: list(inspect.signature(value).parameters)
        for name, value in vars(_native).items()
        if callable(value)
    }
    assert stubbed == native


def test_the_version_is_that_of_the_crates():
    workspace = (ROOT.parent / "Cargo.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.*)"$', workspace, re.MULTILINE).group(1)
    assert swerl_reward.__version__ == metadata.version("swerl-reward") == version


def test_all_public_names_are_there_and_documented():
    for name in swerl_reward.__all__:
        assert getattr(swerl_reward, name).__doc__, name
