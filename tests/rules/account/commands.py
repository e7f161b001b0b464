"""Whether a command in a remedy exists in the AWS CLI: service, operation and options."""

import re
import shlex
from functools import cache
from typing import Any

import botocore.session

_SERVICES = {"s3api": "s3"}
_GLOBAL = {"region", "query", "output"}
_HIGH_LEVEL = {("s3", "sync")}


def commands_in(text: str) -> list[str]:
    """Return the commands of the AWS CLI between backticks."""
    return [command for command in re.findall(r"`([^`]*)`", text) if command.startswith("aws ")]


def why_not(command: str) -> str:
    """Return the error in a command; empty if the CLI accepts it. A command without options can be a name only."""
    _, service, operation, *options = shlex.split(command)
    if (service, operation) in _HIGH_LEVEL:
        return ""
    model = _model(_SERVICES.get(service, service))
    names = {_dashed(name): name for name in model.operation_names}
    if operation not in names:
        return f"{service} has no operation {operation}"
    shape = model.operation_model(names[operation]).input_shape
    arguments: dict[str, Any] = dict(shape.members) if shape else {}
    members = {_dashed(name) for name in arguments}
    given = {word[2:] for word in options if word.startswith("--")}
    unknown = {name for name in given - _GLOBAL if name not in members and name.removeprefix("no-") not in members}
    if unknown:
        return f"{operation} has no option {', '.join(sorted(unknown))}"
    required = {_dashed(name) for name in shape.required_members} if shape and given else set[str]()
    missing = required - given
    return f"{operation} needs {', '.join(sorted(missing))}" if missing else ""


@cache
def _model(service: str) -> Any:
    session: Any = botocore.session.Session()
    return session.get_service_model(service)


def _dashed(name: str) -> str:
    """Convert `DBInstanceIdentifier` to `db-instance-identifier`, like botocore's xform_name."""
    from botocore import xform_name

    return str(xform_name(name, "-"))
