"""Starts the training program in forked processes: PyTorch is imported once, and each start takes a fraction of it.

Reads a request a line from standard input and writes an answer a line. A request: `arguments`, `processes`, `log`,
`environment`, `path` (folders of more modules), and `fault`: at the `nth` passing of a point whose name begins with
`point`, process `rank` is killed (`kill`), gets ENOSPC (`space`), or gets a signal (`signal`).
After `lost_after` seconds processes but the first are frozen, as if their node were lost, and it gets SIGTERM.
"""

# pyright: basic, reportMissingImports=false
import errno
import functools
import json
import os
import signal
import sys
import time

sys.path.insert(0, sys.argv[1])
import torch
import torch._dynamo
import torch.distributed
from torch.utils.tensorboard.writer import SummaryWriter  # noqa: F401

import llm_fleet_training.backends.cpu.backend
import llm_fleet_training.backends.fsdp.backend  # noqa: F401
from llm_fleet_training import __main__ as program
from llm_fleet_training.training import stopping
from llm_fleet_training.training import train as training

torch.set_num_threads(1)


class Fault:
    """Watches the points of a write."""

    def __init__(self, words, rank):
        self.words = words or {}
        self.armed = bool(words) and words.get("rank", 0) == rank
        self.seen = []
        self.left = self.words.get("nth", 1)

    def __call__(self, point):
        self.seen.append(point)
        if not self.armed or not point.startswith(self.words["point"]):
            return
        self.left -= 1
        if self.left:
            return
        if self.words["do"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.words["do"] == "space":
            raise OSError(errno.ENOSPC, "No space left on device", "a file")
        elif self.words["do"] == "signal":
            os.kill(os.getpid(), signal.SIGUSR1)


def child(request, rank):
    """One process of a start."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(request.get("environment", {}))
    sys.path[:0] = request["path"]
    if request["processes"] > 1:
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(request["processes"]),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(request["port"]),
        )  # fmt: skip
    stopping.PATIENCE = request.get("patience", stopping.PATIENCE)
    fault = Fault(request.get("fault"), rank)
    training.train = functools.partial(training.train, watch=fault)
    code = program.main(request["arguments"])
    if request.get("points"):
        with open(request["points"], "w") as file:
            json.dump(fault.seen, file)
    sys.stdout.flush()
    os._exit(code)


def start(request):
    """Like torchrun: when one process fails, the others are ended too; returns the exit code of each."""
    children = {}
    for rank in range(request["processes"]):
        pid = os.fork()
        if not pid:
            child(request, rank)
        children[pid] = rank
    codes, deadline = {}, time.monotonic() + 60
    frozen_at = time.monotonic() + request.get("lost_after", 1000)
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            codes[children.pop(pid)] = os.waitstatus_to_exitcode(status)
            if codes and any(codes.values()):
                deadline = min(deadline, time.monotonic() + 1)
        elif time.monotonic() > frozen_at:
            frozen_at += 1000
            for one, rank in children.items():
                os.kill(one, signal.SIGSTOP if rank else signal.SIGTERM)
        elif time.monotonic() > deadline:
            for one in children:
                os.kill(one, signal.SIGKILL)
        else:
            time.sleep(0.005)
    return [codes[rank] for rank in sorted(codes)]


for line in sys.stdin:
    print(json.dumps(start(json.loads(line))), flush=True)
