"""The server as a process of its own."""

import os
import select
import subprocess
import sys
from pathlib import Path

_STARTS_ONE = """
import os, signal
from local.aws.client import LocalAws

aws = LocalAws()
aws.start()
print(aws._server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_server_ends_with_whoever_started_it() -> None:
    """Even when that was killed: a test run that is cut off leaves no server behind."""
    root = Path(__file__).parents[4]
    ended = subprocess.run([sys.executable, "-c", _STARTS_ONE], cwd=root, stdout=subprocess.PIPE, text=True, timeout=60)
    server = int(ended.stdout)
    try:
        handle = os.pidfd_open(server)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 20)[0], f"the server {server} lives on"
