"""Stops a node in the middle of writing a checkpoint, so that it can be lost at that moment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from llm_fleet_local.drill.nodes.node import Node

_WATCH = """
import glob, json, os, signal, subprocess, sys, time
checkpoints, training, *steps = sys.argv[1:]
pids = [int(pid) for pid in subprocess.run(["pgrep", "-f", training], capture_output=True, text=True).stdout.split()]

def send(number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

def files(step):
    return sorted(map(os.path.basename, glob.glob(f"{checkpoints}/.step_{int(step):08d}.*.part/*")))

caught, end = None, time.monotonic() + 60
for step in steps:
    whole = f"{checkpoints}/step_{int(step):08d}"
    while not files(step) and not os.path.exists(whole) and time.monotonic() < end:
        time.sleep(0.0005)
    send(signal.SIGSTOP)
    found = files(step)
    if found and "checkpoint.json" not in found:
        caught = [int(step), found]
        break
    send(signal.SIGCONT)
print(json.dumps([len(pids), caught]))
"""


def stop_while_writing(node: Node, checkpoints: str, steps: Sequence[int]) -> tuple[int, list[str]]:
    """Stop the running training processes on `node` while they write the checkpoint of one of `steps`.

    A checkpoint is written quickly: if it is complete before the processes are stopped, they continue to the next of
    `steps`. Return the step, and the files of its checkpoint so far. `checkpoints`: the folder's path on nodes. Raises
    `AssertionError` when no process runs, or no incomplete checkpoint was caught within a minute.
    """
    # The brackets keep pgrep from matching the command line of the watcher itself.
    program = "llm_fleet_trainin[g] train"  # codespell:ignore trainin
    done = node.run("python3", "-c", _WATCH, checkpoints, program, *map(str, steps), timeout=90)
    processes, caught = json.loads(done.stdout)
    assert processes > 1, "torchrun may run, but it has no child process"
    assert caught, f"no incomplete checkpoint of the steps {steps} was caught within a minute"
    return caught[0], caught[1]
