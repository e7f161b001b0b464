"""Makes one call of a table: fills in expressions, maps properties by botocore's model, rejects unsupported ones.

Source: emulation, a property that no operation supports is rejected by name
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.expressions import fill, search
from llm_fleet_local.aws.resources.shapes import map_properties, map_value, member_for
from llm_fleet_local.aws.resources.situation import Situation
from llm_fleet_local.aws.resources.spec import Call

Path = tuple[str, ...]


def make_call(
    call: Call,
    at: Situation,
    *,
    by_name: Mapping[str, Any] | None = None,
    may_drop: Callable[[Path], bool] = lambda _: False,
    **words: Any,
) -> dict[str, Any] | None:
    """Make a call; `by_name`: properties that are mapped to the input by their names.

    Returns `None` if the call's condition is not met. Raises `ResourceFailed` with all properties that the
    operation does not support, except paths that `may_drop` allows.
    """
    context = at.words(**words)
    if call.when and not search(call.when, context):
        return None
    service = call.service or at.spec.service
    shape = at.services.input_shape(service, call.call)
    params: dict[str, Any] = {}
    unplaced: list[Path] = []
    if by_name:
        mapped = map_properties(shape, by_name, call.rename)
        params, unplaced = mapped.params, mapped.unplaced
    for name, template in call.params.items():
        member = member_for(shape, name)
        if member is None:
            raise ResourceFailed(f"{at.spec.type}: {service} {call.call} does not have {name}, which the table names")
        value = fill(template, context)
        if value is not None:
            params[member], missing = map_value(shape.members[member], value, call.rename, (name,))
            unplaced += missing
    lost = [".".join(path) for path in unplaced if not may_drop(path)]
    if lost:
        raise ResourceFailed(f"{at.spec.type}: {service} {call.call} does not accept {', '.join(lost)}")
    return at.call(call.call, params, service)


def make_calls(calls: Iterable[Call], at: Situation, **words: Any) -> None:
    """Make calls in sequence."""
    for call in calls:
        make_call(call, at, **words)
