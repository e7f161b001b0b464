"""Keeps members of an operation's input that moto drops, on moto's object.

Source: emulation, dropped members are kept under the names of botocore's model
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Found = Callable[[Any, Mapping[str, Any]], Any]
"""Finds moto's object after an operation: from the response object and the operation's input."""


def keep_members(responses: Any, method: str, names: Iterable[str], found: Found) -> None:
    """After `responses.method`, set the given members among `names` on the object, under the names of the model.

    moto's serializer reads these attributes first, so Describe operations return the members unchanged.
    """
    wanted = tuple(names)
    as_moto_does: Any = getattr(responses, method)

    def keeping(self: Any) -> Any:
        given = dict(self._get_params())  # before moto changes it
        answer = as_moto_does(self)
        thing = found(self, given)
        for name in wanted:
            if name in given:
                setattr(thing, name, given[name])
        return answer

    setattr(responses, method, keeping)


def before(responses: Any, method: str, check: Callable[[Any, dict[str, Any]], None]) -> None:
    """Call `check(response, input)` before moto's operation; it can reject or complete the input."""
    as_moto_does: Any = getattr(responses, method)

    def checked(self: Any) -> Any:
        check(self, self._get_params())
        return as_moto_does(self)

    setattr(responses, method, checked)


def after(responses: Any, method: str, work: Callable[[Any, dict[str, Any]], None]) -> None:
    """Call `work(response, input)` after moto's operation."""
    as_moto_does: Any = getattr(responses, method)

    def followed(self: Any) -> Any:
        given = dict(self._get_params())
        answer = as_moto_does(self)
        work(self, given)
        return answer

    setattr(responses, method, followed)


def once(owner: type, mark: str) -> bool:
    """Return whether a correction is not installed on a class yet, and mark it as installed."""
    name = f"_llm_fleet_{mark}"
    if hasattr(owner, name):
        return False
    setattr(owner, name, True)
    return True
