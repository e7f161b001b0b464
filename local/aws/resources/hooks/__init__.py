"""What data cannot say of a type: one module a hook, named in the type's table."""

from functools import cache
from importlib import import_module
from typing import Any, Protocol

from local.aws.resources.situation import Situation


class Hook(Protocol):
    """The one function that a hook's module has."""

    def prepare(self, at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the properties in the API's terms; called for new and old ones alike. Raises `ResourceFailed`."""
        ...


class _NoHook:
    def prepare(self, at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
        return properties


@cache
def hook_for(name: str) -> Hook:
    """Return the hook of a name; no name means that the table says it all."""
    if not name:
        return _NoHook()
    module: Any = import_module(f"{__name__}.{name}")
    return module
