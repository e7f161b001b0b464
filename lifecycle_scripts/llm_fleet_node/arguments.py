"""What the entry points are asked to do."""

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
    """`run`; `list`: say which steps there are; `dry-run`: verify them and change nothing."""
    only: tuple[str, ...] = ()
    """Names of the steps to run, what they need being verified; empty for all."""
    group: Optional[str] = None
    """The node's group, as ParallelCluster's custom action is told."""
    role: Optional[str] = None
    """List what a node of this role takes, without being one."""
    json: bool = False
    """Say the result as JSON on standard output, in place of lines for people."""


def parse(arguments: Sequence[str]) -> Arguments:
    """Return what `arguments` ask for. Raises `Failure` when they cannot be understood."""
    hook, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if hook not in HOOKS:
        _refuse(arguments, f"the first must be one of {', '.join(HOOKS)}")
    flags: set[str] = set()
    only: list[str] = []
    values: dict[str, str] = {}
    while rest:
        word = rest.pop(0)
        if word in ("--list", "--dry-run", "--json"):
            flags.add(word)
        elif word == "--only":
            only += _names(rest) or _refuse(arguments, "--only wants the names of steps")
        elif word in ("--group", "--role"):
            values[word] = rest.pop(0) if rest else _refuse(arguments, f"{word} wants a name")
        else:
            _refuse(arguments, f"{word} is not known")
    _check(arguments, flags, values, only)
    mode = LIST if "--list" in flags else DRY_RUN if "--dry-run" in flags else RUN
    return Arguments(hook, mode, tuple(only), values.get("--group"), values.get("--role"), "--json" in flags)


def _names(rest: list[str]) -> list[str]:
    """Take names off the front of `rest`, up to the next option."""
    found: list[str] = []
    while rest and not rest[0].startswith("--"):
        found.append(rest.pop(0))
    return found


def _check(given: Sequence[str], flags: set[str], values: dict[str, str], only: list[str]) -> None:
    if {"--list", "--dry-run"} <= flags:
        _refuse(given, "--list and --dry-run exclude one another")
    if "--list" in flags and only:
        _refuse(given, "--list lists all steps, --only is for a run")
    if "--role" in values and "--list" not in flags:
        _refuse(given, "--role is for --list: a node finds out its own role")
    if values.get("--role", CONTROLLER) not in EVERY_ROLE:
        _refuse(given, f"--role must be one of {', '.join(sorted(EVERY_ROLE))}")


def _refuse(arguments: Sequence[str], why: str) -> NoReturn:
    fail(Code.ARGUMENTS, f"called with `{' '.join(arguments)}`: {why}", final=True)
