"""Code for types that data cannot describe: one module per hook, named in the type's table."""

from functools import cache
from importlib import import_module
from typing import Any, Protocol

from llm_fleet_local.aws.resources.situation import Situation


class Hook(Protocol):
    """The interface of a hook's module."""

    def prepare(self, at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the properties in the API's form; called for new and old properties. Raises `ResourceFailed`."""
        ...


class _NoHook:
    def prepare(self, at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
        return properties


@cache
def hook_for(name: str) -> Hook:
    """Return a hook by name; without a name, one that changes nothing."""
    if not name:
        return _NoHook()
    module: Any = import_module(f"{__name__}.{name}")
    return module
