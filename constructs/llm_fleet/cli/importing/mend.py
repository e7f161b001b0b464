"""Brings a request into the form that the API has: its names, its types, nothing blank."""

from dataclasses import dataclass, field
from typing import Any, cast

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import PathPart, Problem

_MEANS_SOMETHING_EMPTY = ("Spot", "OnDemand")
"""Objects without members, whose being there is what they say."""
_NOT_ZERO = ("ThreadsPerCore", "VolumeSizeInGB", "Port", "Value", "IdleWaitWindowInSeconds")
"""Numbers that begin at 1 or later in the API: the skeleton's 0 says nothing."""
_NOUNS = {dict: "an object", list: "a list"}


@dataclass(slots=True)
class Mender:
    """Walks a request beside the shape that the API gives it."""

    notes: Notes
    problems: list[Problem] = field(default_factory=list[Problem])
    blanks: int = 0
    """Fields without a value, as the CLI's skeleton has them."""

    def request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return `request` in the API's form; what cannot be brought into it is in `problems`."""
        mended = self._object(request, load("create_cluster_request"), ())
        if self.blanks:
            self.notes.left_out(f"{self.blanks} fields without a value, as the CLI's skeleton has them")
        return mended

    def _value(self, value: Any, shape: Any, path: tuple[PathPart, ...]) -> Any:
        if isinstance(shape, dict):
            return self._composite(value, dict, cast(dict[str, Any], shape), path)
        if isinstance(shape, list):
            return self._composite(value, list, cast(list[Any], shape), path)
        return self._scalar(value, str(shape), path)

    def _composite(self, value: Any, kind: type, shape: Any, path: tuple[PathPart, ...]) -> Any:
        if not isinstance(value, kind):
            self._wrong(value, _NOUNS[kind], path)
            return None
        if kind is dict:
            return self._object(value, shape, path)
        items = [self._value(item, shape[0], (*path, index)) for index, item in enumerate(value)]
        return [item for item in items if not _is_blank(item)]

    def _object(self, value: dict[str, Any], shape: dict[str, Any], path: tuple[PathPart, ...]) -> dict[str, Any]:
        mended: dict[str, Any] = {}
        for key, member in value.items():
            name = self._name(key, shape, path)
            if name is None:
                continue
            if name in mended:
                self.notes.not_understood(f"{_say((*path, key))}: {name} is there already")
                continue
            inner = self._value(member, shape.get(name, shape.get("*")), (*path, name))
            if (_is_blank(inner) and name not in _MEANS_SOMETHING_EMPTY) or (inner == 0 and name in _NOT_ZERO):
                self.blanks += _is_blank(member) or inner == 0
            else:
                mended[name] = inner
        return mended

    def _name(self, key: str, shape: dict[str, Any], path: tuple[PathPart, ...]) -> str | None:
        """Return the API's own spelling of `key`; `None` when it has no such name."""
        if key in shape or "*" in shape:
            return key
        by_folded = {name.casefold(): name for name in shape}
        name = by_folded.get(key.casefold().replace("_", "").replace("-", ""))
        if name is not None:
            self.notes.mended(f"{_say((*path, key))} is {name} in the API")
            return name
        offer = nearest(key, shape)
        hint = f"; did you mean {offer}?" if offer else ""
        self.notes.not_understood(f"{_say((*path, key))}, which the API does not have{hint}")
        return None

    def _scalar(self, value: Any, kind: str, path: tuple[PathPart, ...]) -> Any:
        if kind == "integer":
            return self._integer(value, path)
        if kind == "boolean" and not isinstance(value, bool):
            self._wrong(value, "true or false", path)
            return None
        if kind == "string" and not isinstance(value, str):
            self._wrong(value, "text", path)
            return None
        return value

    def _integer(self, value: Any, path: tuple[PathPart, ...]) -> int | None:
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            self.notes.mended(f"{_say(path)} is the number {int(value)}, not text")
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._wrong(value, "a whole number", path)
        return None

    def _wrong(self, value: Any, expected: str, path: tuple[PathPart, ...]) -> None:
        if _is_blank(value):
            return
        self.problems.append(
            Problem(
                code=Code.REQUEST_SHAPE,
                message=f"{expected} should stand here",
                remedy="write the request as `aws sagemaker create-cluster --generate-cli-skeleton` has it",
                path=path,
                value=value,
            )
        )


def _is_blank(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _say(path: tuple[PathPart, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
