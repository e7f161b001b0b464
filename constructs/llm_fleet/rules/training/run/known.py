"""Values of a run that are not there yet when its batch files are written."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form
from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_known(part: Any, forms: Mapping[str, Form], names: Iterable[str] | None = None) -> list[Problem]:
    """Return a problem for each of `names` (default: all of `forms`) that is a CDK token."""
    return [
        Problem(
            code=forms[name].code,
            message="this is known only when a stack is deployed, and batch files are written before",
            remedy="write the value itself, as it will be",
            path=(name,),
            value=str(getattr(part, name)),
        )
        for name in (forms if names is None else names)
        if is_unresolved(getattr(part, name))
    ]


def check_server(export: Any) -> list[Problem]:
    """Return that the server of `export` is none that we know."""
    kinds = [kind.value for kind in ServerKind]
    if export.server in kinds:
        return []
    return [
        Problem(
            code=Code.NOT_A_CHOICE,
            message="there is no such server",
            remedy="write ServerKind.TGI",
            path=("server",),
            value=export.server,
            allowed=", ".join(kinds),
        )
    ]
