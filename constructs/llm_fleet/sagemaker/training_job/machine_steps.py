"""States of Amazon States Language, as plain values. JSONPath only: it is what the embedded AWS evaluates."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

State = dict[str, Any]
States = dict[str, State]

THROTTLED = {"IntervalSeconds": 5, "MaxAttempts": 6, "BackoffRate": 2.0, "JitterStrategy": "FULL"}
"""Back-off of calls that the services have no time for: about five minutes together."""


def choice(rules: Sequence[Mapping[str, Any]], *, otherwise: str) -> State:
    """Return a state that goes where the first rule that holds says."""
    return {"Type": "Choice", "Choices": [dict(rule) for rule in rules], "Default": otherwise}


def put(values: Mapping[str, Any], *, at: str | None, then: str) -> State:
    """Return a state that writes `values` at the path `at`; `None` puts them in place of everything."""
    place = {"ResultPath": at} if at else {}
    return {"Type": "Pass", "Parameters": dict(values), **place, "Next": then}


def end_with(kind: str, error: str, cause: Mapping[str, str] | str, *, then: str) -> State:
    """Return a state that writes down how the job ended; `cause`: a text, or what works it out."""
    told = {"cause": cause} if isinstance(cause, str) else dict(cause)
    return put({"kind": kind, "error": error, **told}, at="$.ended", then=then)


def call(
    resource: str,
    parameters: Mapping[str, Any],
    *,
    then: str,
    keep: tuple[str, Mapping[str, Any] | None] | None = None,
    retry: Sequence[Mapping[str, Any]] = (),
    catch: Sequence[Mapping[str, Any]] = (),
) -> State:
    """Return a state that calls a service; `keep`: at which path what of the answer is kept, default nothing.

    `None` as the what: all of it. So where a member may be missing: a path that finds nothing is `States.Runtime`,
    which no catcher catches (docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html).
    """
    kept: State = {"ResultPath": keep[0] if keep else None}
    if keep and keep[1] is not None:
        kept = {"ResultSelector": dict(keep[1]), **kept}
    return {
        "Type": "Task",
        "Resource": resource,
        "Parameters": dict(parameters),
        **kept,
        **({"Retry": [dict(one) for one in retry]} if retry else {}),
        **({"Catch": [dict(one) for one in catch]} if catch else {}),
        "Next": then,
    }


def caught(error: str | Sequence[str], *, then: str) -> State:
    """Return a catcher that leaves what happened at `$.caught`."""
    errors = [error] if isinstance(error, str) else list(error)
    return {"ErrorEquals": errors, "ResultPath": "$.caught", "Next": then}


def again(errors: Sequence[str], **pace: Any) -> State:
    """Return a retrier; default pace: that of throttled calls."""
    return {"ErrorEquals": list(errors), **(pace or THROTTLED)}


def chain(first: str, states: Sequence[str], last: str) -> dict[str, str]:
    """Return which state follows each, from `first` through `states` to `last`."""
    order = [first, *states, last]
    return dict(pairwise(order))
