"""The Python of an environment: its path on this node, and its compatibility with the wheels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host

_ASK = "import json, sys; print(json.dumps([list(sys.version_info[:3]), sys.prefix]))"
_CPYTHON = re.compile(r"cp(\d)(\d+)")


@dataclass(frozen=True)
class Interpreter:
    """One Python of the node."""

    path: str
    version: tuple[int, ...]
    """E.g. `(3, 10, 12)`."""

    @property
    def reported(self) -> str:
        """Its version as text."""
        return ".".join(map(str, self.version))


def find(host: Host, program: str) -> Interpreter:
    """Return the Python called `program`, by name or absolute path. Raises `Failure` if the node has none."""
    path = str(host.path(program)) if program.startswith("/") else host.which(program)
    if path is None:
        fail(Code.INTERPRETER, f"this node has no {program}, which is required to make the environment", final=True)
    return Interpreter(path, ask(host, path))


def ask(host: Host, path: str) -> tuple[int, ...]:
    """Return the version of the Python at `path`. Raises `Failure` if it does not run."""
    try:
        version, _ = json.loads(host.run(path, "-I", "-c", _ASK))
    except CommandFailed as error:
        fail(Code.INTERPRETER, error.cause, final=True)
    except ValueError as error:
        fail(Code.INTERPRETER, f"{path} is not a Python interpreter: {error}", final=True)
    return tuple(version)


def check_wheels(interpreter: Interpreter, names: Iterable[str]) -> None:
    """Raise `Failure` if one of these wheel file names is for another Python.

    pip checks other requirements of wheels, e.g. the C library.
    """
    wrong = [name for name in names if not _is_for(interpreter.version, name)]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        fail(
            Code.INTERPRETER,
            f"{interpreter.path} is Python {interpreter.reported}, which {', '.join(wrong[:3])}{more} "
            f"{'is' if len(wrong) == 1 else 'are'} not for",
            final=True,
        )


def _is_for(version: tuple[int, ...], name: str) -> bool:
    """Return whether the tags in the wheel's `name` match (PEP 425); unknown formats are left to pip."""
    parts = name[: -len(".whl")].split("-")
    if not name.endswith(".whl") or len(parts) < 5:
        return True
    pythons, abis = parts[-3].split("."), parts[-2].split(".")
    return any(_fits(version, python, abis) for python in pythons)


def _fits(version: tuple[int, ...], python: str, abis: list[str]) -> bool:
    tag = _CPYTHON.fullmatch(python)
    if tag is None:
        return python.startswith("py3") or not python.startswith("py")
    made_for = (int(tag.group(1)), int(tag.group(2)))
    if "abi3" in abis:
        return made_for[0] == version[0] and made_for <= version[:2]
    return made_for == version[:2]
