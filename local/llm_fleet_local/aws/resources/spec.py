"""Reads and checks the tables of resource types in `types/*.yaml`, once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from llm_fleet_local.aws.resource_provider import Level
from llm_fleet_local.aws.resources.expressions import properties_in
from llm_fleet_local.aws.resources.schemas import create_only_paths, schema_of

_FOLDER = Path(__file__).parent / "types"
_NOTHING: Mapping[str, Any] = {}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader, if available: with Python's, reading the tables would take most of the start."""


class TableError(Exception):
    """A type table is invalid: an error of the AWS emulator, not of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One API operation, and how its input is built."""

    call: str
    """The operation as botocore names it, e.g. `CreateVpc`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Input members with `$expressions` (`with` in the tables)."""
    by_name: bool = False
    """Whether properties are also mapped to the input by their names."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    """API names by CloudFormation names, where they differ, at any depth."""
    service: str = ""
    """The service, if it is not the type's own."""
    when: str = ""
    """A JMESPath condition; if it is not met, the call is not made."""

    @property
    def takes(self) -> frozenset[str]:
        """The properties that the call takes by expression."""
        return properties_in(dict(self.params))

    @property
    def reads(self) -> frozenset[str]:
        """The properties that the call takes by expression, or that its condition reads."""
        return self.takes | properties_in(f"${self.when}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A condition before creation, and before a change of the properties that it reads."""

    call: Call | None = None
    """A call that must succeed, e.g. because a resource must exist."""
    when: str = ""
    """A JMESPath condition; if it is not met, nothing is checked."""
    that: str = ""
    """A JMESPath condition that must be met; `response` is the call's response."""
    otherwise: str = ""
    """The message if it is not met."""
    called: str = ""
    """The name in `extra` under which later needs read the response."""

    @property
    def reads(self) -> frozenset[str]:
        """The properties that the need reads."""
        taken = self.call.takes if self.call else frozenset[str]()
        return taken | properties_in(f"${self.when}") | properties_in(f"${self.that}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A call after creation for some properties, which is repeated when they change."""

    calls: tuple[Call, ...]
    reset: Call | None = None
    """The call that removes the setting when its properties are no longer given."""
    each: str = ""
    """The list property with a call for each member, as `item`; removed members get `undo`."""
    undo: Call | None = None
    after_update: bool = False
    """Whether the setting is for updates only, because creation sets its properties."""

    @property
    def triggers(self) -> frozenset[str]:
        """The properties that make this setting run."""
        given = frozenset[str]().union(*(call.reads for call in self.calls))
        return given | (frozenset([self.each]) if self.each else frozenset[str]())


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """How the resource is read: `at` is a JMESPath expression over the response."""

    call: Call
    at: str
    also: tuple[tuple[str, "Read"], ...] = ()
    """Additional reads; their results become members of the result (e.g. a VPC's default security group)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCalls:
    """How tags are set and removed after creation; both calls can use `tags`, `tag_map` and `tag_keys`."""

    property: str = "Tags"
    put: Call
    remove: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """The property for which CloudFormation generates a name if none is given."""

    property: str
    longest: int
    lower: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec:
    """One resource type."""

    type: str
    service: str
    level: Level
    ref: str
    create: tuple[Call, ...]
    read: Read | None
    update: Call | None
    delete: tuple[Call, ...]
    settings: tuple[Setting, ...]
    attributes: Mapping[str, str]
    tags: TagCalls | None
    name: Name | None
    needs: tuple[Need, ...]
    steady: Need | None
    """Conditions on the state after a creation or change, before CloudFormation reports it as complete."""
    hook: str
    note: str
    """The note on every resource of the type that was created or changed."""
    recorded: Mapping[str, str]
    """Properties that no emulated API supports, each with the reason; reported in the notes."""
    update_only: frozenset[str]
    """Properties that creation does not support, because they control updates."""
    replace: frozenset[str]
    """Paths of properties whose change replaces the resource, if its schema does not list them."""

    @property
    def covered(self) -> frozenset[str]:
        """Properties that are handled by something other than creation by name."""
        settings = (one.triggers for one in self.settings if not one.after_update)
        given = frozenset[str]().union(*(call.reads for call in self.create), *settings)
        return given | frozenset(self.recorded) | (frozenset([self.tags.property]) if self.tags else frozenset[str]())

    @property
    def fixed_paths(self) -> tuple[tuple[str, ...], ...]:
        """Paths of properties that can be set only at creation; `*` means every member of a list."""
        own = (tuple(path.split(".")) for path in sorted(self.replace))
        return (*create_only_paths(self.type), *own)

    @property
    def for_deletion(self) -> frozenset[str]:
        """Properties for deletion (e.g. the waiting period of a key)."""
        return frozenset[str]().union(*(call.reads for call in self.delete))


@cache
def type_specs() -> Mapping[str, TypeSpec]:
    """Return every resource type of the tables, by name."""
    specs: dict[str, TypeSpec] = {}
    for path in sorted(_FOLDER.glob("*.yaml")):
        table: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506 - a safe one
        for name, entry in table["types"].items():
            if name in specs:
                raise TableError(f"{path.name}: duplicate type {name}")
            try:
                specs[name] = _type_spec(name, entry or {}, table)
            except (KeyError, TypeError, ValueError) as error:
                raise TableError(f"{path.name}: {name}: {error!r}") from error
    return specs


def _type_spec(name: str, entry: Mapping[str, Any], table: Mapping[str, Any]) -> TypeSpec:
    known = {"level", "ref", "create", "read", "update", "delete", "settings", "attributes", "tags", "name", "hook"}
    _only(entry, known | {"service", "recorded", "replace", "needs", "note", "steady", "update_only"}, name)
    read = entry.get("read")
    return TypeSpec(
        type=name,
        service=entry.get("service", table.get("service", "")),
        level=Level(entry.get("level", "api")),
        ref=entry.get("ref", "ref"),
        create=tuple(_call(one, by_name="with" not in one) for one in _listed(entry.get("create"))),
        read=_read(read) if read else None,
        update=_call(entry["update"], by_name=True) if "update" in entry else None,
        delete=tuple(_call(one) for one in _listed(entry.get("delete"))),
        settings=tuple(_setting(one) for one in entry.get("settings", ())),
        attributes=entry.get("attributes", _NOTHING),
        tags=_tags(name, entry.get("tags", table.get("tags"))),
        name=Name(**entry["name"]) if "name" in entry else None,
        needs=tuple(_need(one) for one in entry.get("needs", ())),
        steady=_need(entry["steady"]) if "steady" in entry else None,
        hook=entry.get("hook", ""),
        note=entry.get("note", ""),
        recorded=entry.get("recorded", _NOTHING),
        update_only=frozenset(entry.get("update_only", ())),
        replace=frozenset(entry.get("replace", ())),
    )


def _call(entry: Mapping[str, Any], *, by_name: bool = False) -> Call:
    _only(entry, {"call", "with", "by_name", "rename", "service", "when"}, entry["call"])
    return Call(
        call=entry["call"],
        params=entry.get("with", _NOTHING),
        by_name=entry.get("by_name", by_name),
        rename=entry.get("rename", _NOTHING),
        service=entry.get("service", ""),
        when=entry.get("when", ""),
    )


def _setting(entry: Mapping[str, Any]) -> Setting:
    _only(
        entry,
        {"call", "with", "rename", "service", "when", "calls", "reset", "each", "undo", "after_update"},
        "a setting",
    )
    own = {key: entry[key] for key in ("call", "with", "rename", "service", "when") if key in entry}
    return Setting(
        calls=tuple(_call(one) for one in entry.get("calls", [own])),
        reset=_call(entry["reset"]) if "reset" in entry else None,
        each=entry.get("each", ""),
        undo=_call(entry["undo"]) if "undo" in entry else None,
        after_update=entry.get("after_update", False),
    )


def _need(entry: Mapping[str, Any]) -> Need:
    _only(entry, {"call", "with", "service", "when", "that", "else", "as"}, "a need")
    call = _call({key: entry[key] for key in ("call", "with", "service") if key in entry}) if "call" in entry else None
    return Need(
        call=call,
        when=entry.get("when", ""),
        that=entry.get("that", ""),
        otherwise=entry["else"] if "that" in entry else "",
        called=entry.get("as", ""),
    )


def _read(entry: Mapping[str, Any]) -> Read:
    call = _call({key: value for key, value in entry.items() if key not in ("at", "also")})
    also = tuple((name, _read(one)) for name, one in entry.get("also", {}).items())
    return Read(call=call, at=entry["at"], also=also)


def _tags(resource_type: str, entry: Mapping[str, Any] | None) -> TagCalls | None:
    """Return how tags are set; `None` if the type's schema has no tags, even if its service has."""
    if not entry:
        return None
    name = entry.get("property", "Tags")
    if name not in (schema_of(resource_type) or {}).get("properties", {}):
        return None
    return TagCalls(property=name, put=_call(entry["put"]), remove=_call(entry["remove"]))


def _listed(entry: Any) -> list[Mapping[str, Any]]:
    if entry is None:
        return []
    return entry if isinstance(entry, list) else [entry]  # pyright: ignore[reportUnknownVariableType]


def _only(entry: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = set(entry) - known
    if unknown:
        raise TableError(f"{what}: unknown keys: {', '.join(sorted(unknown))}")
