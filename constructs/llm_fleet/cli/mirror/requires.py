"""Which of the packages that were resolved together need which others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.cli.mirror.wheel_tags import machine_of
from llm_fleet.rules.training.locked import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A package that pip has chosen."""

    name: str
    version: str
    url: str
    sha256: str
    requires: tuple[str, ...]
    """`Requires-Dist` of its metadata."""
    extras: frozenset[str] = frozenset()
    """Those that were asked for by the user."""


def requirements_within(found: Sequence[Resolved], *, python: str, system: str) -> Mapping[str, tuple[str, ...]]:
    """Return, by the name of each of `found`, the names of those that it needs on CPython `python` and `system`.

    An extra that one package asks of another brings its requirements too.
    """
    from packaging.requirements import Requirement

    names = {plain(each.name): each.name for each in found}
    parsed = {each.name: [Requirement(text) for text in each.requires] for each in found}
    extras = {each.name: set(each.extras) for each in found}
    needs: dict[str, set[str]] = {each.name: set() for each in found}
    environment = {**_LINUX, "python_version": python, "python_full_version": f"{python}.0"}
    environment["platform_machine"] = machine_of(system)
    ahead = [each.name for each in found]
    while ahead:
        name = ahead.pop()
        for requirement in parsed[name]:
            other = names.get(plain(requirement.name))
            asked = [{**environment, "extra": extra} for extra in ("", *sorted(extras[name]))]
            if other is None or not any(requirement.marker is None or requirement.marker.evaluate(e) for e in asked):
                continue
            if other != name:
                needs[name].add(other)
            if not requirement.extras <= extras[other]:
                extras[other] |= requirement.extras
                ahead.append(other)
    return {name: tuple(sorted(others)) for name, others in needs.items()}


_LINUX = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
}
