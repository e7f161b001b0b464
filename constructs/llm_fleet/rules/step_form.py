"""A step of the user's own by itself: its name, roles, time and retries."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_protocols import OwnStepLike
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def check_step_form(step: OwnStepLike) -> Iterator[Problem]:
    """Return what is wrong with `step` whatever else there is."""
    if not _NAME.fullmatch(step.name):
        mended = re.sub(r"[^a-z0-9]+", "_", step.name.lower()).strip("_").lstrip("0123456789_")
        yield Problem(
            code=Code.STEP_NAME,
            message="this is no name of a step",
            remedy=f"write {mended!r}" if mended else "write a word of lower-case letters",
            path=("name",),
            value=step.name,
            allowed="lower-case letters, digits and underscores; a letter first",
        )
    if not step.roles:
        yield Problem(
            code=Code.STEP_ROLE,
            message=f"no node takes the step {step.name!r}, since it names no role",
            remedy="name one role or more",
            path=("roles",),
            value=[],
            allowed=", ".join(NodeType),
        )
    facts = load("lifecycle")
    yield from check_number(
        step.timeout_seconds,
        Limit(minimum=1, maximum=facts["own_step_max_seconds"]),
        Code.STEP_LIMIT,
        "timeout_seconds",
        what="the seconds that an attempt may take",
    )
    yield from check_number(
        step.retries,
        Limit(minimum=0, maximum=facts["own_step_max_retries"]),
        Code.STEP_LIMIT,
        "retries",
        what="the number of times that it is attempted anew",
    )
