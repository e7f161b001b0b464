"""Further environment variables of a model server's container."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.catalog.model_server import own_variables, server_settings
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import ServerLike
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.secret_text import SECRET_REFERENCE, SECRET_VALUE, SECRET_VARIABLE
from llm_fleet.rules.tokens import is_unresolved

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_environment(server: ServerLike) -> list[Problem]:
    """Return what is wrong with the variables that `server` is given: names, texts, ours, and what looks secret."""
    given: Any = server.environment
    if not isinstance(given, Mapping):
        return []  # told by its form
    return [problem for name, value in server.environment.items() for problem in _variable(server, name, value)]


def _variable(server: ServerLike, name: str, value: Any) -> Iterator[Problem]:
    if is_unresolved(name):
        return
    path = ("environment", name)
    if not _NAME.fullmatch(str(name)):
        yield Problem(
            code=Code.SERVER_ENVIRONMENT,
            path=path,
            message="this is no name of an environment variable",
            remedy="write letters, digits and underscores, with no digit first",
            allowed="letters, digits and underscores",
        )
    elif name in own_variables(server.kind):
        yield _ours(server, name)
    elif not isinstance(value, str):
        yield Problem(
            code=Code.SERVER_ENVIRONMENT,
            path=path,
            message=f"the value of a variable is a text, and this is of type {type(value).__name__}",
            remedy="write it in quotes",
            value=value,
            allowed="a text",
        )
    elif _is_secret(name, value):
        yield Problem(
            code=Code.SERVER_SECRET,
            path=path,
            message="this looks like a secret: everyone who may read the template or describe the task definition "
            "could read its text",
            remedy="keep it in Secrets Manager: the Hub's token is the model's token_secret_arn, the API key is the "
            "front's; a credential of another service belongs in an image of your own",
        )


def _is_secret(name: str, value: str) -> bool:
    if SECRET_REFERENCE.search(value):
        return True
    if is_unresolved(value):
        return False
    return bool(value) and bool(SECRET_VARIABLE.search(name.upper()) or SECRET_VALUE.search(value))


def _ours(server: ServerLike, name: str) -> Problem:
    settings = [key for key, setting in server_settings(server.kind).items() if setting.variable == name]
    return Problem(
        code=Code.SERVER_ENVIRONMENT,
        path=("environment", name),
        message="the service sets this variable itself",
        remedy=f"remove it, and write the setting `{settings[0]}` of the server"
        if settings
        else "remove it: sizes are tensor_parallel, batch_size and sequence_length, the API key is the front's and "
        "the Hub's token the model's; the others follow from model, image and hosts",
    )
