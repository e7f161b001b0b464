"""A node process that needs a result that one of several builds; `python builder.py <folder> <seconds> [how]`.

Writes one line into `<folder>/log` when it begins to build, and the result at its end. `how`: `build`,
`fail`, or
`die` in the middle.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "lifecycle_scripts"))

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.training import build_once as module
from llm_fleet_node.training.build_once import build_once
from llm_fleet_node.training.shared_lock import Held, SharedLock

FOLDER, SECONDS = Path(sys.argv[1]), float(sys.argv[2])
HOW = sys.argv[3] if len(sys.argv) > 3 else "build"
STALE = 0.6
module._LONGEST = 0.1  # type: ignore[reportPrivateUsage] - seconds between two looks


def log(what: str) -> None:
    """Append one line, short enough for an atomic write."""
    with open(FOLDER / "log", "a", encoding="ascii") as file:
        file.write(f"{os.getpid()} {what}\n")


def build(held: Held) -> None:
    """Build for `SECONDS`, and then publish the result."""
    log("builds")
    held.doing("building slowly")
    time.sleep(SECONDS)
    if HOW == "fail":
        fail(Code.WHEELS, "no wheel fits")
    if HOW == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    held.check()
    (FOLDER / "made").write_text(str(os.getpid()))


(FOLDER / f"here-{os.getpid()}").touch()
while (FOLDER / "wait").exists():
    time.sleep(0.005)
try:
    built = build_once(
        SharedLock(FOLDER / "locks", "thing", stale=STALE, beat=0.1),
        is_done=(FOLDER / "made").exists,
        build=build,
        say=log,
        seconds=30,
    )
    log("built" if built else "found it built")
except Failure as error:
    log(f"failed: {error.code.code}  {error.cause}")
    sys.exit(1)
