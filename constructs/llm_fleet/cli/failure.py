"""How the command says that something outside of it went wrong: the network, AWS, a cluster."""

from typing import NoReturn

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import FleetError, Problem


def refuse(code: AnyCode, message: str, remedy: str, *, subject: str = "", value: object = None) -> NoReturn:
    """Raise one problem as `FleetError`."""
    raise FleetError([Problem(code=code, message=message, remedy=remedy, value=value)], subject=subject)


def is_of_aws(error: Exception) -> bool:
    """Return whether AWS, or boto3 on the way to it, refuses. Known by name: boto3 need not be installed."""
    return type(error).__module__.partition(".")[0] in ("botocore", "boto3")
