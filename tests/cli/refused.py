"""Errors of calls."""

from collections.abc import Callable

import pytest

from llm_fleet.rules.problem import AnyCode, FleetError


def refused(call: Callable[[], object], *, match: str | None = None) -> FleetError:
    """Return the error of `call`."""
    with pytest.raises(FleetError, match=match) as caught:
        call()
    return caught.value


def code_of(call: Callable[[], object], *, match: str | None = None) -> AnyCode:
    """Return the code of the only problem of `call`."""
    (problem,) = refused(call, match=match).problems
    return problem.code
