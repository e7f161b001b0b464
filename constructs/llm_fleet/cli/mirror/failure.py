"""How the command says that something outside of it went wrong."""

from typing import NoReturn

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem


def refuse(code: Code, message: str, remedy: str, *, subject: str = "", value: object = None) -> NoReturn:
    """Raise one problem as `FleetError`."""
    raise FleetError([Problem(code=code, message=message, remedy=remedy, value=value)], subject=subject)
