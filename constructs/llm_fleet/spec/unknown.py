"""Placeholder for an invalid value of a fleet file, which rules skip in the same way as a CDK token."""

from collections.abc import Iterator
from typing import Any, ClassVar

TOKEN = "${Token[unknown]}"  # noqa: S105 - no secret
"""The placeholder as a string."""


def _same(unknown: Any, *_: Any, **__: Any) -> Any:
    return unknown


def _no(unknown: Any, _: Any) -> bool:
    return False


_itself: Any = _same
_never: Any = _no


class Unknown(str):
    """An unknown value: all of its attributes are unknown, too, it contains every item that is searched for, and is
    empty.

    Rules need no check for it other than `is_unresolved`, which is true for it.
    """

    creation_stack: ClassVar[tuple[str, ...]] = ()
    model_fields: ClassVar[dict[str, Any]] = {}
    __dataclass_fields__: ClassVar[dict[str, Any]] = {}
    # A problem of an unknown part is unknown, too, and stays unknown when `replace` changes it.

    def __new__(cls, *_: Any, **__: Any) -> "Unknown":
        """Return a new instance; all are equal."""
        return super().__new__(cls, TOKEN)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    count: Any = property(_itself)
    __call__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = _itself
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __neg__ = _itself
    __ceil__ = __floor__ = __round__ = _itself  # codespell:ignore floor
    __lt__ = __le__ = __gt__ = __ge__ = _never

    def __format__(self, _: str) -> str:
        """Return how it reads in a text, also where a number is written: a text with it is not reported."""
        return TOKEN

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __contains__(self, part: object) -> bool:
        return True


UNKNOWN: Any = Unknown()


class Incomplete(dict[str, Any]):
    """A mapping with an invalid entry: it contains every key that is searched for; its items are the valid ones."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return UNKNOWN

    def get(self, key: str, default: Any = None) -> Any:
        """Return the entry, or an unknown value."""
        return self[key]
