"""The command line of the entry points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.step import CONTROLLER, EVERY_ROLE, ON_CREATE, ON_INIT_COMPLETE, ON_NODE_CONFIGURED

HOOKS = (ON_INIT_COMPLETE, ON_CREATE, ON_NODE_CONFIGURED)

RUN, LIST, DRY_RUN = "run", "list", "dry-run"


@dataclass(frozen=True)
class Arguments:
    """`<hook> [--list [--role ROLE]] [--dry-run] [--only NAME…] [--group NAME] [--json]`."""

    hook: str
    mode: str = RUN
    """`run`; `list`: print the steps; `dry-run`: verify them and change nothing."""
    only: tuple[str, ...] = ()
    """Names of the steps to run, after the steps that they need are verified; empty for all."""
    group: Optional[str] = None
    """The node's group, from the arguments of ParallelCluster's custom action."""
    role: Optional[str] = None
    """List the steps of this role, on any machine."""
    json: bool = False
    """Print the result as JSON on standard output instead of text."""


def parse(arguments: Sequence[str]) -> Arguments:
    """Parse `arguments`. Raises `Failure` (`LFN08`) if they are not valid."""
    hook, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if hook not in HOOKS:
        _fail(arguments, f"the first must be one of {', '.join(HOOKS)}")
    flags: set[str] = set()
    only: list[str] = []
    values: dict[str, str] = {}
    while rest:
        word = rest.pop(0)
        if word in ("--list", "--dry-run", "--json"):
            flags.add(word)
        elif word == "--only":
            only += _names(rest) or _fail(arguments, "--only requires the names of steps")
        elif word in ("--group", "--role"):
            values[word] = rest.pop(0) if rest else _fail(arguments, f"{word} requires a name")
        else:
            _fail(arguments, f"unknown option {word}")
    _check(arguments, flags, values, only)
    mode = LIST if "--list" in flags else DRY_RUN if "--dry-run" in flags else RUN
    return Arguments(hook, mode, tuple(only), values.get("--group"), values.get("--role"), "--json" in flags)


def _names(rest: list[str]) -> list[str]:
    """Remove and return the names at the front of `rest`, up to the next option."""
    found: list[str] = []
    while rest and not rest[0].startswith("--"):
        found.append(rest.pop(0))
    return found


def _check(given: Sequence[str], flags: set[str], values: dict[str, str], only: list[str]) -> None:
    if {"--list", "--dry-run"} <= flags:
        _fail(given, "use only one of --list and --dry-run")
    if "--list" in flags and only:
        _fail(given, "use only one of --list and --only")
    if "--role" in values and "--list" not in flags:
        _fail(given, "--role is allowed only with --list")
    if values.get("--role", CONTROLLER) not in EVERY_ROLE:
        _fail(given, f"--role must be one of {', '.join(sorted(EVERY_ROLE))}")


def _fail(arguments: Sequence[str], why: str) -> NoReturn:
    fail(Code.ARGUMENTS, f"called with `{' '.join(arguments)}`: {why}", final=True)
