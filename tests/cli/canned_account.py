"""A fake AWS in this process: botocore gets the responses that a test sets, checked against its own models."""

from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ParamValidationError
from botocore.validate import validate_parameters

Answer = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
_now: list["CannedAccount"] = []


class CannedAccount:
    """Responses by operation, e.g. `ListClusterEvents`; any other call fails the test."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = dict(answers)
        self._refused: dict[str, tuple[str, str]] = {}
        self.requested: list[tuple[str, dict[str, Any]]] = []

    def lives(self, monkeypatch: pytest.MonkeyPatch) -> "CannedAccount":
        """Serve all clients that are created from now on."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "x")
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", _session())
        monkeypatch.setattr(f"{__name__}._now", [self])
        return self

    def clients_answer(self, operation: str) -> dict[str, Any]:
        """Return the response to an empty request."""
        answer = self._answers[operation]
        return dict(answer({}) if callable(answer) else answer)

    def says(self, **answers: Answer) -> None:
        """Set responses."""
        self._answers |= answers
        self._refused = {name: why for name, why in self._refused.items() if name not in answers}

    def refuses(self, *operations: str, code: str = "AccessDeniedException", message: str = "") -> None:
        """Set operations that fail with an error of AWS."""
        self._refused |= {name: (code, message or f"not authorized to perform: x:{name}") for name in operations}

    def answer(self, model: Any, requested: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the response in botocore's parsed form."""
        self.requested.append((model.name, requested))
        if model.name in self._refused:
            code, message = self._refused[model.name]
            return SimpleNamespace(status_code=400), {"Error": {"Code": code, "Message": message}}
        answer = self._answers[model.name]
        reported = dict(answer(requested) if callable(answer) else answer)
        try:
            validate_parameters(reported, model.output_shape)
        except ParamValidationError as error:  # The commands would read it as a response of AWS.
            raise AssertionError(f"not a valid response of {model.name}: {error}") from error
        return SimpleNamespace(status_code=200), reported


@cache
def _session() -> boto3.Session:
    """One session for all tests: reading the models again takes longer than everything else."""
    core = botocore.session.Session()
    requested: dict[str, Any] = {}

    def hear(params: dict[str, Any], **_: Any) -> None:
        requested.clear()
        requested.update(params)

    core.register("provide-client-params", hear)
    core.register("before-call", lambda model, **_: _now[0].answer(model, dict(requested)))  # pyright: ignore
    return boto3.Session(botocore_session=core)
