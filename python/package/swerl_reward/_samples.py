"""What data sets and trainers make of a sample, as the arguments of a score."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Dict

_REMEDY = "give a dict of path to text, or the same as JSON text"


def files(value: Any, what: str) -> Dict[str, str]:
    """Path to text from a dict or from JSON text.

    Arrow tables (``datasets``, Parquet) give every row the paths of all rows, with None where a row has
    no such file: those entries are left out. JSON text has no such filler.
    """
    value = parsed(value, what)
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must hold files, not {type(value).__name__}: {_REMEDY}")
    found = {path: text for path, text in value.items() if text is not None}
    for path, text in found.items():
        if not isinstance(path, str) or not isinstance(text, str):
            raise TypeError(
                f"{what} must hold files, path and text of type str, "
                f"not {path!r:.100} of type {type(path).__name__} with {type(text).__name__}: {_REMEDY}"
            )
    return found


def prefixed(prefix: Any) -> str:
    """A ``prefix`` as configurations have it: a string, or None for none."""
    if prefix is not None and not isinstance(prefix, str):
        raise TypeError(f"prefix must be a str, not {type(prefix).__name__}")
    return prefix or ""


def parsed(value: Any, what: str) -> Any:
    """The value, or what it says where it is JSON text."""
    if isinstance(value, (bytes, str)):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{what} is no JSON text ({error}): {_REMEDY}") from None
    return value


def text(completion: Any, what: str) -> str:
    """The text of a completion: a string as it is, of chat messages the last of the assistant.

    Parts of a message are joined. Reasoning that a chat template has parsed away from the
    content is put back between its tags. No message of the assistant, or none with a text: "".
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, (list, tuple)):
        raise TypeError(
            f"{what} must be a str or a list of chat messages, not {type(completion).__name__}"
        )
    last: Mapping[str, Any] = {}
    for message in completion:
        if not isinstance(message, Mapping):
            raise TypeError(
                f"{what}: a chat message must be a dict with role and content, "
                f"not {type(message).__name__}"
            )
        if message.get("role", "assistant") == "assistant":
            last = message
    reasoning = last.get("reasoning_content") or last.get("thinking")
    head = f"<think>{reasoning}</think>" if isinstance(reasoning, str) else ""
    return head + _content(last.get("content"), what)


def _content(content: Any, what: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    raise TypeError(
        f"{what}: the content of a chat message must be a str or a list of parts, "
        f"not {type(content).__name__}"
    )
