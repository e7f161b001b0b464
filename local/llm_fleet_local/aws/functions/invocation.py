"""Runs a function when a test calls it, with its role's IAM permissions only.

Source: model botocore lambda Invoke
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from moto import settings
from moto.core.authorization import ActionAuthenticatorMixin

from llm_fleet_local.aws.functions.function_process import FunctionProcess
from llm_fleet_local.aws.resources.services import Services


class Invocation:
    """Invokes functions of the AWS emulator at one endpoint."""

    def __init__(self, endpoint: str, account: str) -> None:
        """Run the functions that are deployed at this endpoint."""
        self._process = FunctionProcess(Services(endpoint))
        self._account = account

    def invoke(self, requested: str) -> dict[str, Any]:
        """Run the function of a request (JSON: `function`, `event`, `region`, `checked`); return its result."""
        request: dict[str, Any] = json.loads(requested)
        around = _checked if request["checked"] else _unchecked
        run = self._process.invoke(
            request["function"], request["event"], request["region"], self._account, around=around
        )
        return asdict(run)


@contextmanager
def _checked() -> Generator[None]:
    """Make IAM allow or deny every call inside the context."""
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    ActionAuthenticatorMixin.request_count = 0
    try:
        yield
    finally:
        settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")


@contextmanager
def _unchecked() -> Generator[None]:
    yield
