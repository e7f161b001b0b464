"""Versions of Neuron packages as text."""

import re

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_FORM = re.compile(r"\d+(\.\d+){3}")


def check_version(version: str, *path: str) -> list[Problem]:
    """Check that `version` is a full version of a Neuron package, e.g. `2.28.0.0`."""
    if _FORM.fullmatch(version):
        return []
    return [
        Problem(
            code=Code.VERSION_FORM,
            message="this is no version of a Neuron package",
            remedy="write all four numbers, e.g. '2.28.0.0'",
            path=path,
            value=version,
        )
    ]
