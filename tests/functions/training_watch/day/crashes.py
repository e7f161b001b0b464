"""Clients that crash randomly before or after a call; and concurrent runs of the function."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError


class Crash(BaseException):
    """The function's process has ended."""


@dataclass
class RunCrash:
    """The crash of one run at its call number `at`; `None`: no crash."""

    chance: random.Random
    likely: float
    between: Callable[[], None] = lambda: None
    """Another run of the function in the middle of a run."""
    crashes: int = 0
    overlaps: int = 0
    calls: int = 0
    at: int | None = None
    kind: str = ""
    seen: dict[str, int] = field(default_factory=lambda: {})

    def begin(self) -> None:
        """Begin a run: choose whether and when it crashes."""
        self.calls = 0
        crashes = self.chance.random() < self.likely
        self.at = self.chance.choice((0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 12)) if crashes else None
        self.kind = self.chance.choice(("before", "after", "after", "throttled", "overlap"))

    def around(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, or crash."""
        here, kind = self.calls == self.at, self.kind
        self.calls += 1
        self.seen[name] = self.seen.get(name, 0) + 1
        if not here:
            return call()
        self.at = None
        if kind == "overlap":
            self.overlaps += 1
            self.between()
            return call()
        self.crashes += 1
        if kind == "throttled":
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, name)
        if kind == "after":
            call()
        raise Crash(name)


class CrashingClient:
    """A client whose calls can crash."""

    def __init__(self, client: Any, run_crash: RunCrash) -> None:
        self._client = client
        self._run_crash = run_crash

    def __getattr__(self, name: str) -> Any:
        if name == "get_paginator":
            return self._paginator

        def call(*words: Any, **request: Any) -> Any:
            return self._run_crash.around(name, lambda: getattr(self._client, name)(*words, **request))

        return call

    def _paginator(self, operation: str) -> Any:
        return _CrashingPages(self._client.get_paginator(operation), operation, self._run_crash)


@dataclass
class _CrashingPages:
    pages: Any
    operation: str
    run_crash: RunCrash

    def paginate(self, **request: Any) -> Iterator[Any]:
        yield from self.run_crash.around(self.operation, lambda: list(self.pages.paginate(**request)))
