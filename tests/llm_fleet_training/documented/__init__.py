"""Documented signatures of vendors' functions, as data, and a decorator that checks calls against them."""

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
CALLS: list[tuple[str, dict[str, Any]]] = []
"""Each call of a documented function of this process: its name, and its arguments by name."""


def signature(name: str) -> inspect.Signature:
    """The documented signature of a function of `documented/*.json`."""
    for path in sorted(Path(__file__).parent.glob("*.json")):
        words = json.loads(path.read_text())["signatures"]
        if name in words:
            return inspect.Signature([_parameter(word) for word in words[name]])
    raise KeyError(name)


def _parameter(word: str) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if word.startswith("**"):
        return inspect.Parameter(word[2:], inspect.Parameter.VAR_KEYWORD)
    if word.startswith("!"):
        word, kind = word[1:], inspect.Parameter.KEYWORD_ONLY
    default = None if word.endswith("=") else inspect.Parameter.empty
    return inspect.Parameter(word.rstrip("="), kind, default=default)


def documented(name: str) -> Callable[[F], F]:
    """Reject an undocumented call of `name`, and record a documented one."""
    wanted = signature(name)

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def held(*args: Any, **kwargs: Any) -> Any:
            own = args[1:] if function.__name__ == "__init__" else args
            try:
                bound = wanted.bind(*own, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}: {error}; it takes {wanted}") from None
            CALLS.append((name, dict(bound.arguments)))
            return function(*args, **kwargs)

        return held  # type: ignore[return-value]

    return wrap
