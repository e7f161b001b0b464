"""The journal of what a run creates: a file from which everything can be removed, also after the run was killed."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.prove import aws_answers
from llm_fleet.cli.prove.aws_answers import Refused, send, wait_for
from llm_fleet.rules.feature_codes import CommandCode

if TYPE_CHECKING:
    from llm_fleet.cli.clients import AwsClients

FILE = "created.jsonl"
_GONE = re.compile(
    r"(?i)not exist|not found|NotFound|NoSuch|no such|could not (be found|find)|not registered|unable to describe"
    r"|missing|inactive"
)
"""Words of services whose error code does not say that a resource is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A call that removes a resource, with all its arguments."""

    number: int
    """Its place in the journal."""
    call: str
    arguments: Mapping[str, Any]
    region: str
    account: str
    wait: Mapping[str, Any] | None = None
    """Waiter and its arguments, as `{"call": ..., "arguments": ...}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A resource that could not be removed."""

    removal: Removal
    why: str


class UndoJournal:
    """Writes each removal before the call that creates the resource, and that it was done after it."""

    def __init__(self, folder: Path) -> None:
        """Read the journal of the run in `folder`, or begin one. It is locked until this process ends or `close`.

        Raises `OSError`, `BlockingIOError` if another process runs with this journal.
        """
        self.folder = folder
        """The folder of the run."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / FILE).open("a+", encoding="utf-8")
        self._pending: dict[int, Removal] = {}
        self._rejected: set[int] = set()
        self._next = 0
        try:
            _lock(self._file.fileno())
        except BlockingIOError:
            self.close()
            raise
        self._file.seek(0)
        for line in self._file.read().splitlines():
            self._read(line)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def _read(self, line: str) -> None:
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            return  # The run was killed while it wrote this line, so before the call.
        if "removed" in entry:
            self._pending.pop(entry["removed"], None)
        elif "rejected" in entry:
            self._rejected.add(entry["rejected"])
        else:
            removal = Removal(**entry)
            self._pending[removal.number] = removal
            self._next = removal.number + 1

    @property
    def pending(self) -> tuple[Removal, ...]:
        """What is not removed yet, the newest first."""
        return tuple(reversed(self._pending.values()))

    def add(
        self, request: Mapping[str, Any], region: str, account: str, wait: Mapping[str, Any] | None = None
    ) -> Removal:
        """Write down how to remove what the next call creates. It is on the disk when this returns."""
        removal = Removal(number=self._next, **request, region=region, account=account, wait=wait)
        self._next += 1
        self._write(asdict(removal))
        self._pending[removal.number] = removal
        return removal

    def reject(self, removal: Removal) -> None:
        """Write down that AWS has rejected the call that creates the resource.

        It is removed nevertheless: boto3 makes a call again that has timed out, and AWS rejects the second one because
        of the first. But then its removal may be rejected, too.
        """
        self._write({"rejected": removal.number})
        self._rejected.add(removal.number)

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove_all(self, clients_of: Mapping[str, AwsClients]) -> tuple[Left, ...]:
        """Remove everything that is pending, the newest first. Return what is left, with the reason.

        `clients_of`: clients by region; they must have those of every pending removal.
        """
        left: list[Left] = []
        for removal in self.pending:
            refused = _remove(removal, clients_of[removal.region])
            never_was = removal.number in self._rejected and refused is not None and refused.is_an_answer
            if refused is None or never_was:
                self._write({"removed": removal.number})
                del self._pending[removal.number]
            else:
                left.append(Left(removal=removal, why=str(refused)))
        return tuple(left)


def _remove(removal: Removal, clients: AwsClients) -> Refused | None:
    """Remove one resource. Return why it is left; `None` if it is gone."""
    for call, arguments in _before(removal, clients):
        send(clients, call, arguments)
    refused = _sent_when_idle(removal, clients)
    if refused is None and removal.wait is not None:
        refused = wait_for(clients, removal.wait["call"], removal.wait["arguments"]).refused
    if removal.call == "ecs:DeregisterTaskDefinition":
        # Otherwise it stays in the account as INACTIVE.
        names = [removal.arguments["taskDefinition"]]
        refused = send(clients, "ecs:DeleteTaskDefinitions", {"taskDefinitions": names}).refused
    return None if refused is None or _is_gone(refused) else refused


def _before(removal: Removal, clients: AwsClients) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls without which the removal is rejected: a bucket's objects, e.g. access logs by S3."""
    if removal.call == "s3:DeleteBucket":
        for item in send(clients, "s3:ListObjectsV2", removal.arguments).response.get("Contents", []):
            yield "s3:DeleteObject", {**removal.arguments, "Key": item["Key"]}


def _sent_when_idle(removal: Removal, clients: AwsClients) -> Refused | None:
    """Make the call again and again while the resource is in use or being changed, at most for some minutes."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        refused = send(clients, removal.call, removal.arguments).refused
        if removal.call == "ecs:DeleteCapacityProvider":
            refused = refused or _active_provider(removal, clients)
        busy = refused is not None and refused.is_an_answer and _BUSY.search(f"{refused.code} {refused.message}")
        if not busy or time.monotonic() > end:
            return refused
        time.sleep(aws_answers.MOST_DELAY)


def _active_provider(removal: Removal, clients: AwsClients) -> Refused | None:
    """Return a refusal if the capacity provider is still there.

    ECS accepts the deletion of one that a cluster uses, and reports later that it failed.

    Source: https://github.com/ekristen/aws-nuke/issues/540 (2025)
    """
    name = removal.arguments["capacityProvider"]
    found = send(clients, "ecs:DescribeCapacityProviders", {"capacityProviders": [name]}).response
    if not any(one["status"] == "ACTIVE" for one in found.get("capacityProviders", [])):
        return None
    return Refused(kind=CommandCode.REFUSED, code="DELETE_FAILED", message="it is still in use", is_an_answer=True)


_BUSY = re.compile(r"(?i)in[_ ]?progress|in[_ ]?use|busy")
_BUSY_SECONDS = 300


def _is_gone(refused: Refused) -> bool:
    return refused.kind is CommandCode.GONE or (
        refused.is_an_answer and _GONE.search(f"{refused.code} {refused.message}") is not None
    )


def _lock(descriptor: int) -> None:
    """Lock the file for this process; on Windows files are not locked. Raises `BlockingIOError`."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def interrupted_runs(folder: Path) -> Iterator[UndoJournal]:
    """Yield the journals of runs below `folder` that have ended and left resources; each is locked until the next."""
    for path in sorted(folder.glob(f"*/{FILE}")):
        try:
            journal = UndoJournal(path.parent)
        except BlockingIOError:
            continue
        if journal.pending:
            yield journal
        journal.close()
