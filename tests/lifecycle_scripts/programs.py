"""Runs the programs of a test's node without a process: starting Python took most of the time of these tests.

`PROGRAM` is the first line of such a program. What else a step calls (shell scripts, apt, bash) is a process, and so is
a program that kills, waits, or starts others. The first test of each file has processes for all (see `conftest.py`).
"""

import functools
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

PROGRAM = f"#!{sys.executable} -IS\n"
_NEEDS_A_PROCESS = re.compile(
    r"\b(exec[vl]\w*|fork|subprocess\.(?!run\(.*capture_output=True)\w+|signal|kill|get[pug]\w*id|sleep|system\(|_exit|chdir|umask|fcntl|dup2?|popen|"
    r"os\.(read|write|open)|threading|socket)\b"
)
_in_a_process: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
_ONE_AT_A_TIME = threading.Lock()
"""Streams, arguments and environment are those of the whole process while a program runs."""


def run(command: tuple[str, ...], **how: Any) -> subprocess.CompletedProcess[str]:
    """Replaces `subprocess.run` for `Host.run`; `command` is a program of the node or a real one."""
    environment: dict[str, str] = dict(how["env"])
    found = shutil.which(command[0], path=environment["PATH"])
    code = _code(found, Path(found).read_bytes()) if found else None
    if found is None or code is None:
        return _in_a_process(command, **how)
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(3)]
    given, out, err = streams
    given.write(how["input"] or "")
    given.seek(0)
    with _ONE_AT_A_TIME, _process([found, *command[1:]], environment, given, out, err):
        ended = _run(code, found)
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
    return subprocess.CompletedProcess(command, ended, out.read(), err.read())


@functools.lru_cache(maxsize=1000)
def _code(path: str, text: bytes) -> CodeType | None:
    if not text.startswith(PROGRAM.encode()) or _NEEDS_A_PROCESS.search(text.decode()):
        return None
    return compile(text, path, "exec")


def _run(code: CodeType, path: str) -> int:
    """The exit code, with Python's message on standard error."""
    try:
        exec(code, {"__name__": "__main__", "__file__": path})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return int(end.code or 0)
        print(end.code, file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _process(arguments: list[str], environment: dict[str, str], *streams: io.TextIOWrapper) -> Generator[None]:
    """The attributes of a process that these programs use."""
    kept = (sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path)
    modules, own_environment = set(sys.modules), dict(os.environ)
    sys.argv, sys.path = arguments, list(sys.path)
    sys.stdin, sys.stdout, sys.stderr = streams
    _set_environment(environment)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # programs close their files only at their end
            yield
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path = kept
        _set_environment(own_environment)
        for name in set(sys.modules) - modules:
            if "lifecycle_scripts" in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]  # modules of a test's programs read their environment when they are imported


def _set_environment(wanted: dict[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


INSTEAD_OF_SUBPROCESS = SimpleNamespace(**{**vars(subprocess), "run": run})
"""Replaces the module `subprocess` in `llm_fleet_node.host`."""
