"""Looks at an endpoint, and ends it when its time has come. Running twice, or again after a crash, is no different.

What is done is worked out from what is there, never from what a run remembers: before the endpoint is deleted, its
configuration and its model are marked, and a marked one whose endpoint is gone is deleted. One that was never marked
stays: somebody else has deleted the endpoint, and may want to create it again.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .hosting import Hosting, Part
from .settings import Settings

_LOOK_AGAIN_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did, for its log and for who called it."""

    state: str
    """`young`, `busy`, `deleting`, `ended`, or `not-ours` when somebody else has deleted the endpoint."""
    ends: str = ""
    """When the endpoint's time comes or came; empty when it is gone."""
    deleted: tuple[str, ...] = ()
    """What this run has deleted, or asked to be deleted."""


class Reaper:
    """Ends one endpoint."""

    def __init__(
        self,
        settings: Settings,
        client: Callable[[str], Any],
        *,
        patience: Callable[[], float],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """`client` makes a client of a service's name; `patience` tells how many seconds a run still has."""
        self._settings = settings
        self._hosting = Hosting(settings, client)
        self._client = client
        self._patience = patience
        self._wait = wait

    def run(self, now: datetime) -> Outcome:
        """Do what is to be done at `now`."""
        endpoint = self._hosting.endpoint()
        if endpoint is None:
            return self._finish(())
        ends = endpoint["CreationTime"] + timedelta(seconds=self._settings.ttl_seconds)
        if now < ends:
            return Outcome(state="young", ends=ends.isoformat())
        if self._hosting.is_being_deleted(endpoint):
            # By an earlier run, which has marked what goes with it, or by somebody else, whose parts stay.
            return Outcome(state="deleting", ends=ends.isoformat())
        if not self._hosting.can_be_deleted(endpoint):
            return Outcome(state="busy", ends=ends.isoformat())
        self._begin(now)
        if not self._is_gone():
            return Outcome(state="deleting", ends=ends.isoformat(), deleted=(self._settings.endpoint,))
        return self._finish((self._settings.endpoint,))

    @property
    def _parts(self) -> list[tuple[Part, str]]:
        return [(Part.CONFIG, self._settings.config), (Part.MODEL, self._settings.model)]

    def _begin(self, now: datetime) -> None:
        for part, name in self._parts:
            self._hosting.mark(part, name, now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        self._hosting.stop_scaling()
        self._hosting.delete_endpoint()

    def _is_gone(self) -> bool:
        """Return whether the endpoint is gone before this run has to end; the next run goes on where it is not."""
        while self._hosting.endpoint() is not None:
            if self._patience() < 2 * _LOOK_AGAIN_SECONDS:
                return False
            self._wait(_LOOK_AGAIN_SECONDS)
        return True

    def _finish(self, deleted: tuple[str, ...]) -> Outcome:
        """Delete what is marked, tell before the last of it is gone, and run no more.

        A crash before the last deletion is made good by the next run, which may tell a second time.
        """
        found = {part: self._hosting.found(part, name) for part, name in self._parts}
        marked = [(part, name) for part, name in self._parts if found[part] == "marked"]
        if not marked and not deleted and "not marked" in found.values():
            return Outcome(state="not-ours")
        self._hosting.stop_scaling()
        for part, name in marked[:-1]:
            self._hosting.delete(part, name)
        if marked or deleted:
            self._tell()
        for part, name in marked[-1:]:
            self._hosting.delete(part, name)
        self._client("events").disable_rule(Name=self._settings.rule)
        return Outcome(state="ended", deleted=(*deleted, *(name for _, name in marked)))

    def _tell(self) -> None:
        if not self._settings.topic:
            return
        name = self._settings.endpoint
        self._client("sns").publish(
            TopicArn=self._settings.topic,
            Subject=f"Endpoint {name} has ended"[:100],
            Message=json.dumps(
                {
                    "endpoint": name,
                    "what": "Its time to live is over: endpoint, configuration and model are deleted. What was "
                    "captured and its logs are kept.",
                    "bring it back": "destroy its stack, and deploy it again",
                },
                indent=2,
            ),
        )
