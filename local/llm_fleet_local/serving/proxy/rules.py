"""Matches requests to rules. Pure functions.

Wildcards, case sensitivity and priorities are those of the listener rules in Elastic Load Balancing's user guide: paths
and methods are case-sensitive, hosts and headers are not; `*` is any text and `?` is one character.

Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-rules.html (2026-11)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet_local.serving.template.front import Condition, Listener, Rule

_DOT_SEGMENTS = re.compile(r"/\.(?=/|$)|/[^/]+/\.\.(?=/|$)|^/\.\.(?=/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """The parts of a request that rules match."""

    method: str
    path: str
    """As it was sent, without the query."""
    headers: Mapping[str, str]
    """By names in lower case."""

    @property
    def host(self) -> str:
        """Its host, without the port."""
        return self.headers.get("host", "").partition(":")[0]


def first_rule(listener: Listener, requested: Requested) -> Rule:
    """Return the rule of the lowest priority that `request` meets; a listener's default meets all."""
    return next(rule for rule in listener.rules if all(_holds(condition, requested) for condition in rule.conditions))


def normalized(path: str) -> str:
    """Return `path` without dot segments and with one slash for several.

    A forbidden path must be blocked both as sent and in this form.
    assumption: load-balancer-compares-paths
    """
    path = re.sub("/{2,}", "/", path.replace("%2e", ".").replace("%2E", "."))
    while (shorter := _DOT_SEGMENTS.sub("", path, count=1)) != path:
        path = shorter
    return path or "/"


def _holds(condition: Condition, requested: Requested) -> bool:
    if condition.kind == "http-request-method":
        return requested.method in condition.patterns
    if condition.kind == "path-pattern":
        return any(_pattern(item, with_case=True).fullmatch(requested.path) for item in condition.patterns)
    if condition.kind == "host-header":
        return any(_pattern(item, with_case=False).fullmatch(requested.host) for item in condition.patterns)
    value = requested.headers.get((condition.header or "").lower())
    return value is not None and any(_pattern(item, with_case=False).fullmatch(value) for item in condition.patterns)


@cache
def _pattern(text: str, *, with_case: bool) -> re.Pattern[str]:
    body = re.escape(text).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(body, re.DOTALL | (0 if with_case else re.IGNORECASE))
