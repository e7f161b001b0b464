"""What a call is refused with."""

from collections.abc import Callable

import pytest

from llm_fleet.rules.problem import AnyCode, FleetError


def refused(call: Callable[[], object], *, match: str | None = None) -> FleetError:
    """Return the error that `call` ends with."""
    with pytest.raises(FleetError, match=match) as caught:
        call()
    return caught.value


def code_of(call: Callable[[], object], *, match: str | None = None) -> AnyCode:
    """Return the code of the one problem that `call` is refused with."""
    (problem,) = refused(call, match=match).problems
    return problem.code
