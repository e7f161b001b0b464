"""How a command ends: exit codes, and problems that end it."""

from enum import IntEnum
from typing import NoReturn

from llm_fleet.rules.problem import AnyCode, FleetError, Problem


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    """Done, and nothing is wrong."""
    PROBLEMS = 1
    """Something is wrong; it is told."""
    USAGE = 2
    """The command line itself is wrong."""
    NOT_ASKED = 3
    """AWS could not be asked, or not of everything: credentials, a denied call, throttling, the network."""
    NOT_UNDERSTOOD = 4
    """Done, without keys that were not understood: `import` names each, which may be misspelled."""
    INTERRUPTED = 130
    """Ctrl-C."""


def refuse(code: AnyCode, message: str, remedy: str, *, subject: str = "", value: object = None) -> NoReturn:
    """Raise one problem as `FleetError`."""
    raise FleetError([Problem(code=code, message=message, remedy=remedy, value=value)], subject=subject)


def is_of_aws(error: Exception) -> bool:
    """Return whether AWS, or boto3 on the way to it, refuses. Known by name: boto3 need not be installed."""
    return type(error).__module__.partition(".")[0] in ("botocore", "boto3")
