"""`checkpoints`: lists checkpoints and verifies their digests."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.checkpoints.checkpoints import Checkpoints, Complete
from llm_fleet_training.failures import FINAL

SUMMARY = "list the checkpoints of a run, or verify them byte by byte"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the action and the folder."""
    parser.add_argument(
        "do", choices=("list", "verify", "newest"), help="newest: print the path of the newest complete checkpoint"
    )
    parser.add_argument("--run-folder", type=Path, required=True, metavar="FOLDER", help="run folder")
    parser.add_argument("--step", type=int, metavar="N", help="verify only the checkpoint of this step")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """0; or 3 when `verify` finds damage, or `newest` finds no checkpoint."""
    checkpoints = Checkpoints(arguments.run_folder / "checkpoints")
    if arguments.do == "newest":
        return _newest(checkpoints)
    steps = [step for step in checkpoints.steps() if arguments.step in (None, step)]
    rows = [_row(checkpoints, step, digests=arguments.do == "verify") for step in steps]
    if arguments.json:
        print(json.dumps(rows, indent=1))
    else:
        _print(rows)
    missing = arguments.step is not None and not steps
    if missing:
        print(f"there is no checkpoint of step {arguments.step}")
    return FINAL if missing or (arguments.do == "verify" and any(row["problems"] for row in rows)) else 0


def _newest(checkpoints: Checkpoints) -> int:
    found, passed_over = checkpoints.newest_complete()
    for damaged in passed_over:
        print(f"{damaged.folder} is skipped: {damaged.why}", file=sys.stderr)
    if found is None:
        print(f"{checkpoints.folder} has no complete checkpoint", file=sys.stderr)
        return FINAL
    print(found.folder)
    return 0


def _row(checkpoints: Checkpoints, step: int, *, digests: bool) -> Dict[str, Any]:
    seen = checkpoints.look(step)
    if not isinstance(seen, Complete):
        return {"step": step, "folder": str(seen.folder), "complete": False, "problems": [seen.why]}
    record = seen.record
    return {
        "step": step,
        "folder": str(seen.folder),
        "complete": True,
        "problems": checkpoints.damage(seen) if digests else [],
        "bytes": record.size,
        "written": record.written,
        "backend": record.backend,
        "layout": record.layout,
        "degrees": record.degrees,
        "world_size": record.world_size,
        "fingerprint": record.fingerprint,
        "tokens_seen": record.tokens_seen,
    }


def _print(rows: List[Dict[str, Any]]) -> None:
    for row in rows:
        word = "; ".join(row["problems"]) or f"complete, {row['bytes']} bytes, {row['backend']}, {row['written']}"
        print(f"step {row['step']}: {word}")
    if not rows:
        print("no checkpoints")
