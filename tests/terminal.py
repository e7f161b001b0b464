"""Runs `llm-fleet` as a person does: in a terminal of some size, or into a pipe, with an environment of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pyte

_COMMAND = ("-c", "import sys; from llm_fleet.cli.main import main; sys.exit(main())")
_SECONDS = 60
_ROWS = 500
"""A terminal with enough rows for all that a test reads."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    """The exit status; negative if a signal killed the command."""
    out: str
    """Standard output; in a terminal, what the screen showed at the end, standard error included."""
    err: str = ""
    raw: str = ""
    """In a terminal: everything that was sent to it, with color codes."""

    @property
    def lines(self) -> list[str]:
        """The lines of `out`."""
        return self.out.splitlines()


def run(
    *words: str, environment: Mapping[str, str] | None = None, folder: Path | None = None, given: str | None = None
) -> Ran:
    """Run `llm-fleet` with pipes, as in CI. `environment` is added to a minimal one without AWS settings."""
    ended = subprocess.run(
        [sys.executable, *_COMMAND, *words],
        env=_environment(environment),
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def run_in_terminal(
    *words: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    columns: int = 120,
    interrupt_at: str | None = None,
    typed: Sequence[tuple[str, str]] = (),
) -> Ran:
    """Run `llm-fleet` in a terminal with this number of `columns`.

    `interrupt_at`: a pattern; Ctrl-C is typed as soon as the terminal shows it. `typed`: what is typed when a pattern
    is shown, in this order. Raises `AssertionError` when a pattern is never shown, or the command does not end.
    """
    child: pexpect.spawn[str] = pexpect.spawn(
        sys.executable,
        [*_COMMAND, *words],
        env=_environment({"TERM": "xterm-256color", **(environment or {})}),  # pyright: ignore[reportArgumentType]
        cwd=None if folder is None else str(folder),
        dimensions=(_ROWS, columns),
        encoding="utf-8",
        timeout=_SECONDS,
        echo=False,
        preexec_fn=_accept_ctrl_c,
    )
    sent = ""
    try:
        for pattern, keys in [*typed, *([(interrupt_at, "\x03")] if interrupt_at else [])]:
            child.expect(pattern)
            sent += _text(child.before) + _text(child.after)
            child.send(keys)
        child.expect(pexpect.EOF)
        sent += _text(child.before)
    except (pexpect.TIMEOUT, pexpect.EOF) as error:
        raise AssertionError(f"the terminal never showed what was awaited:\n{sent}{_text(child.before)}") from error
    finally:
        child.close(force=True)
    code = child.exitstatus if child.exitstatus is not None else -(child.signalstatus or 0)
    return Ran(code, _shown(sent, columns), raw=sent)


def type_ctrl_c() -> None:
    """Send Ctrl-C to this process, even if a shell started it in the background, where it would ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)


def _accept_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def colors(text: str) -> list[str]:
    """Return the color codes in what was sent to a terminal."""
    return re.findall(r"\x1b\[[0-9;]*m", text)


def _text(part: object) -> str:
    return part if isinstance(part, str) else ""


def _shown(sent: str, columns: int) -> str:
    """Return what a terminal shows at the end, without the empty lines below."""
    screen = pyte.Screen(columns, _ROWS)
    pyte.Stream(screen).feed(sent)
    return "\n".join(line.rstrip() for line in screen.display).rstrip()


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # No settings of this machine's user, and no credentials of an instance.
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    return {**kept, **nowhere, "AWS_EC2_METADATA_DISABLED": "true", **(more or {})}
