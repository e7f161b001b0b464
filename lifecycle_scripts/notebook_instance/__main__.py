"""Checks once whether this instance is in use, and stops it after the idle time.

A systemd timer runs it every few minutes, as ec2-user, with the execution role of the instance.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from notebook_instance.idleness import verify
from notebook_instance.instance import Instance, stop, this_instance
from notebook_instance.jupyter import look
from notebook_instance.places import RUNTIME, SETTINGS, STATE, UPTIME, at


def main() -> int:
    """Return 0, or 1 if the instance should stop but could not."""
    minutes = json.loads(at(SETTINGS).read_text(encoding="utf-8"))["idle_minutes"]
    now = datetime.now(timezone.utc)
    seen = look(at(RUNTIME))
    verdict = verify(
        seen, now=now, started=_started(now), answered=_answered(at(STATE)), idle=timedelta(minutes=minutes)
    )
    if seen.activities is not None:
        _keep(at(STATE), now)
    print(("stopping: " if verdict.stop else "running: ") + verdict.reason, flush=True)
    return _end(this_instance(), verdict.reason, now) if verdict.stop else 0


def _end(instance: Instance, reason: str, now: datetime) -> int:
    try:
        stop(instance, reason, now)
    except Exception as error:  # any error of boto3: the next run tries again
        print(f"{instance.name} could not be stopped: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _started(now: datetime) -> datetime:
    return now - timedelta(seconds=float(at(UPTIME).read_text(encoding="utf-8").split()[0]))


def _answered(state: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(json.loads(state.read_text(encoding="utf-8"))["answered"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(state: Path, now: datetime) -> None:
    state.parent.mkdir(parents=True, exist_ok=True)
    new = state.with_suffix(".new")
    new.write_text(json.dumps({"answered": now.isoformat()}), encoding="utf-8")
    os.replace(new, state)


if __name__ == "__main__":
    sys.exit(main())
