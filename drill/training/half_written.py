"""Stops a node in the middle of writing a checkpoint, so that it can be lost right there."""

from __future__ import annotations

import json

from drill.nodes.node import Node

_WATCH = """
import glob, json, os, signal, subprocess, sys, time
pattern, training = sys.argv[1:]
pids = [int(pid) for pid in subprocess.run(["pgrep", "-f", training], capture_output=True, text=True).stdout.split()]
found, end = [], time.monotonic() + 60
while not found and time.monotonic() < end:
    time.sleep(0.0005)
    found = glob.glob(pattern)
for pid in pids:
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        pass
print(json.dumps([len(pids), sorted(map(os.path.basename, glob.glob(pattern)))]))
"""


def stop_while_writing(node: Node, checkpoints: str, step: int) -> list[str]:
    """Stop the training processes on `node`, which must run, once the checkpoint of `step` has begun.

    Return its files so far. `checkpoints`: the folder, as nodes see it. Raises `AssertionError` when no process runs,
    or none is begun within a minute.
    """
    pattern = f"{checkpoints}/.step_{step:08d}.*.part/*"
    # A word of the command line that the watcher's own has not.
    done = node.run("python3", "-c", _WATCH, pattern, "llm_fleet_trainin[g] train", timeout=90)
    processes, files = json.loads(done.stdout)
    assert processes > 1, "torchrun may be there, but no process of its own"
    assert files, f"no checkpoint of step {step} was begun within a minute"
    return files
